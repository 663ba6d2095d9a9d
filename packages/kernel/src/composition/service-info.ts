import type { InstanceView, ServiceInfo } from '@steeple/contracts'
import type { KernelOptions } from '../create-kernel.ts'
import type { PluginRegistry } from '../plugins/registry.ts'

/** What is running, as the service tells of itself. */
export function serviceInfo(
  { version, commit, buildDate, clock }: KernelOptions,
  registry: PluginRegistry,
  instance: () => InstanceView,
): ServiceInfo {
  return {
    version,
    commit,
    buildDate,
    startedAtMs: clock.nowMs(),
    instance,
    plugins: () =>
      registry
        .list()
        .filter(({ state }) => state === 'running')
        .map(({ name, version, pages = [] }) => ({ name, version, pages })),
  }
}
