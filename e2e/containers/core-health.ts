import { eventually } from '@steeple/testkit'
import type { Service } from '../harness/service.ts'

/** What the components of the core driver and of the owner of its settings say, one a line. */
export async function coreHealth(service: Service): Promise<string> {
  const { body } = await service.request('GET', '/v1/health')
  return body.components
    .filter(({ name }: { name: string }) => /^(driver-core-|core-config\.)/.test(name))
    .map(({ name, status, detail }: Record<string, string>) => `${name} ${status}: ${detail}`)
    .join('\n')
}

/** Waits until the core runs with what is configured. */
export async function coreInForce(service: Service, limitMs: number): Promise<void> {
  let words = ''
  await eventually(async () => {
    words = await coreHealth(service)
    const { body } = await service.request('GET', '/v1/core/plan')
    return body.state === 'in_sync' && /core ok: .* in force/.test(words)
  }, limitMs).catch((cause) => {
    throw new Error(words, { cause })
  })
}
