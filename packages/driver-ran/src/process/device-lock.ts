import { hash } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { southboundUnavailable } from '@steeple/contracts'

/** Held as long as this service uses a radio device. */
interface DeviceLock {
  readonly name: string
  release(): Promise<void>
}

/** What a device is called in the lock: the same settings mean the same device. */
export function deviceName(ran: { readonly device_name: string; readonly device_args: string }): string {
  const text = `${ran.device_name.toLowerCase()}\n${ran.device_args}`
  return hash('sha256', text).slice(0, 24)
}

/**
 * Takes the device for this process, among all services of the machine (of its network namespace).
 *
 * The lock is a listening socket in the kernel's abstract namespace: no file is left behind, and the kernel lets go of
 * it with the process. Throws `southbound_unavailable` when another one holds it.
 */
export async function lockDevice(name: string): Promise<DeviceLock> {
  const server = createServer((socket) => socket.destroy())
  server.unref()
  await listening(server, `\0steeple-radio-${name}`)
  return {
    name,
    release: async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      await promise
    },
  }
}

async function listening(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', (error) =>
    reject(
      southboundUnavailable(
        'another service on this machine uses the radio device (ran.device_name, ran.device_args)',
        {
          cause: error,
        },
      ),
    ),
  )
  server.listen(path, () => resolve())
  await promise
}
