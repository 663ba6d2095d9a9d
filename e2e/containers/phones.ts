import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../harness/launch.ts'
import type { TestCore } from './core-containers.ts'
import type { TestDatabase } from './database.ts'

/** How often the HSS looks at its change stream, ms. */
const STREAM_MS = 100

/** Phones of the test core, as the recordings show them, and the HSS that serves them from the database. */
export interface Phones {
  /** One attach. `refused`: the HSS does not know it, or it has no slice; nothing is listed then. */
  attach(imsi: string): Promise<'attached' | 'refused'>
  /** Whether the core has a session of it. */
  isOn(imsi: string): boolean
  close(): void
}

/** Puts the HSS and the phones between the database and the lists of MME and SMF. */
export function startPhones(core: TestCore, database: TestDatabase): Phones {
  const subscribers = database.collection('open5gs', 'subscribers')
  const [attached, detached] = [
    recorded('mme-ue-info.attached-connected'),
    recorded('mme-ue-info.after-detach'),
  ]
  const session = recorded('smf-pdu-info.attached-4g')
  const phones = new Map<string, boolean>()
  const show = (): void => {
    const entries = [...phones]
    core.show(
      'ue-info',
      // Whoever was seen once stays in the list.
      entries.map(([supi, isOn]) => ({ ...(isOn ? attached : detached), supi })),
    )
    core.show(
      'pdu-info',
      entries.filter(([, isOn]) => isOn).map(([imsi]) => ({ ...session, supi: `imsi-${imsi}` })),
    )
  }
  const cancelled = new Set<string>()
  /** What the real one does by its change stream: a request that was not there before cancels the location. */
  const look = async (): Promise<void> => {
    const found = await subscribers.find({ request_cancel_location: true }).toArray()
    const now = found.map(({ imsi }) => String(imsi))
    const fresh = now.filter((imsi) => !cancelled.has(imsi))
    cancelled.clear()
    for (const imsi of now) cancelled.add(imsi)
    const off = fresh.filter((imsi) => phones.get(imsi) === true)
    for (const imsi of off) phones.set(imsi, false)
    if (off.length > 0) show()
  }
  const timer = setInterval(() => void look().catch(() => undefined), STREAM_MS)
  show()
  return {
    attach: async (imsi) => {
      const doc = await subscribers.findOne({ imsi })
      if (doc?.security?.k === undefined || doc.slice?.length !== 1) return 'refused'
      phones.set(imsi, true)
      show()
      return 'attached'
    },
    isOn: (imsi) => phones.get(imsi) === true,
    close: () => clearInterval(timer),
  }
}

function recorded(name: string): object {
  const text = readFileSync(join(ROOT, `lab/lab-core/fixtures/${name}.json.txt`), 'utf8')
  // Recorded in another network than the one that the tests configure: phones of a foreign one do not count.
  return JSON.parse(text.replaceAll('"99970"', '"99999"')).items[0]
}
