import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '@steeple/testkit'
import { type KeepAlive, keepAlive } from '../http-client.ts'
import { INSPECTOR_FLAGS } from '../inspector.ts'
import { type Answer, type RequestOptions, type Service, startService } from '../service.ts'
import type { Air } from './air.ts'

const ADMIN = 'disarm-test-admin-token-0123456789abcdef'
/** A policy that lets it transmit. */
export const OPEN: object = {
  spectrum: {
    license: { acknowledged: true, reference: 'L-7', holder: 'Example', expires_at: '2099-01-01T00:00:00Z' },
    allow_list: [{ technology: 'lte', band: 'b7', country: 'DE' }],
  },
  rate_limits: { tx_arm_per_hour: 100_000 },
}

/** Configuration (YAML) of a box with the radio `binary`, which transmits by the profile `mast`. */
export function radioConfig(binary: string, pci = 1): string {
  const profile = '{technology: lte, channel: 3350, bandwidth_mhz: 5, tx_gain_db: 40}'
  const ran = `{binary: ${binary}, device_name: uhd, device_args: "serial=${process.pid}", pci: ${pci}, profiles: {mast: ${profile}}}`
  return `server: {mode: rf, country: DE}\nhss: {driver: none}\nran: ${ran}\n`
}

/** A service with a radio that it may put on air. */
export interface Box {
  /** The one that runs now. */
  readonly service: Service
  readonly folder: string
  readonly air: Air
  /** A connection that is open beforehand, for the disarm. */
  readonly desk: KeepAlive
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
  /** Opens what the policy asks for. */
  permit(): Promise<void>
  /** Armed, and samples flow. */
  onAir(): Promise<void>
  /** Writes the configuration anew, with another `ran.pci`: the driver is reloaded at SIGHUP. */
  changeRadio(): void
  /** Starts it again after it has ended. `isEmpty`: on an empty store. */
  restart(isEmpty?: boolean): Promise<void>
  close(): Promise<void>
}

/** Starts a service with its data in `folder`. */
export async function openBox(air: Air, folder: string): Promise<Box> {
  const config = join(folder, 'control.yaml')
  const dataDir = join(folder, 'data')
  let pci = 1
  const writeConfig = (): void => {
    writeFileSync(config, radioConfig(air.binary, pci))
  }
  const start = async (): Promise<Service> => {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    const flags = ['--config', config]
    return startService({ dataDir, adminToken: ADMIN, flags, nodeFlags: INSPECTOR_FLAGS })
  }
  writeConfig()
  let service = await start()
  let desk = keepAlive(service)
  const box: Box = {
    get service() {
      return service
    },
    get desk() {
      return desk
    },
    folder,
    air,
    request: (method, path, options) => service.request(method, path, options),
    permit: async () => {
      const answer = await service.request('PUT', '/v1/policy', { body: OPEN })
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
    },
    onAir: async () => {
      // A disarm that was not confirmed, or is not stored yet, keeps it from being armed for a moment.
      await eventually(async () => {
        const answer = await service.request('POST', '/v1/tx/arm', {
          body: { arm: true, profile_id: 'mast' },
        })
        return answer.status === 200
      })
      await air.isOn()
      await desk.send('GET', '/v1/tx/arm')
    },
    changeRadio: () => {
      pci = pci === 1 ? 2 : 1
      writeConfig()
    },
    restart: async (isEmpty = false) => {
      desk.close()
      if (isEmpty) rmSync(dataDir, { recursive: true })
      service = await start()
      desk = keepAlive(service)
    },
    close: async () => {
      desk.close()
      await service.kill()
    },
  }
  await box.permit()
  return box
}
