// SPDX-License-Identifier: Apache-2.0
// An NVML with one device at 0000:3b:00.0. Every call of the energy counter takes 250 mJ; two other
// processes have a context.
#include <stdio.h>
#include <string.h>

typedef int result;
enum { kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kInsufficientSize = 7 };
struct violation {
  unsigned long long reference_us, violation_ns;
};

static int device;
static int started;
static unsigned long long energy = 1000;

result nvmlInit_v2(void) {
  ++started;
  return kSuccess;
}
result nvmlShutdown(void) {
  --started;
  return kSuccess;
}
int fake_nvml_started(void) { return started; }
const char* nvmlErrorString(result code) { return code == kNotFound ? "Not Found" : "Other"; }
result nvmlSystemGetDriverVersion(char* text, unsigned size) {
  snprintf(text, size, "580.1");
  return kSuccess;
}
result nvmlSystemGetNVMLVersion(char* text, unsigned size) {
  snprintf(text, size, "13.580.1");
  return kSuccess;
}
result nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** handle) {
  if (strcmp(address, "0000:3b:00.0") != 0) return kNotFound;
  *handle = &device;
  return kSuccess;
}
result nvmlDeviceGetClockInfo(void* handle, int which, unsigned* mhz) {
  if (handle != &device) return kInvalidArgument;
  *mhz = which == 1 ? 1980 : which == 2 ? 3201 : 0;
  return kSuccess;
}
result nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* celsius) {
  if (handle != &device || sensor != 0) return kInvalidArgument;
  *celsius = 41;
  return kSuccess;
}
result nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
  (void)handle;
  *milliwatts = 123456;
  return kSuccess;
}
result nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* milliwatts) {
  (void)handle;
  *milliwatts = 700000;
  return kSuccess;
}
// The old name only: drivers before 535.
result nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* mask) {
  (void)handle;
  *mask = 0x4;
  return kSuccess;
}
result nvmlDeviceGetViolationStatus(void* handle, int policy, struct violation* time) {
  (void)handle;
  if (policy != 0) return kNotSupported;
  time->reference_us = 5;
  time->violation_ns = 777;
  return kSuccess;
}
result nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* millijoules) {
  (void)handle;
  *millijoules = energy += 250;
  return kSuccess;
}
result nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, void* infos) {
  (void)handle;
  (void)infos;
  *count = 3;
  return kInsufficientSize;
}
