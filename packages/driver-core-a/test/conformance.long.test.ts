import { hssDriverRef, type Imsi } from '@steeple/contracts'
import { type CorePhones, coreDriverConformance } from '@steeple/testkit'
import { DESIRED } from './support/desired.ts'
import { type Phone, phone } from './support/phones.ts'
import { filesIn, type World, world } from './support/world.ts'

const KICK_LIMITS = { overallMs: 10_000, graceMs: 50, pollMs: 10 }

/** Phones that an HSS or an AMF disconnects when it is told to. */
function phonesOf({ core, bus, fake }: World, technology: 'lte' | 'nr'): CorePhones {
  const staying = new Set<string>()
  const cut = (one: Phone): void => {
    if (staying.has(one.imsi)) return
    one.state = technology === 'lte' ? 'cut' : 'deregistered'
    one.hasSession = false
  }
  const found = (imsi: string): Phone | undefined => core.phones.find((one) => one.imsi === imsi)
  bus.answer = (supi) => {
    const one = found(supi.replace('imsi-', ''))
    if (one === undefined) return 404
    cut(one)
    return 204
  }
  fake.services.set(hssDriverRef.id, {
    cancelLocation: async (imsis: readonly Imsi[]) => {
      for (const imsi of imsis) {
        const one = found(imsi)
        if (one !== undefined) cut(one)
      }
      return new Map(imsis.map((imsi) => [imsi, undefined]))
    },
  })
  return {
    apns: ['internet'],
    stay: async (imsi) => {
      staying.add(imsi)
    },
    attach: async () => {
      const one = phone(core.phones.length + 1, technology)
      core.phones.push(one)
      return one.imsi
    },
    isAttached: async (imsi) => {
      const one = found(imsi)
      return one !== undefined && (one.state === 'registered' || one.state === 'idle' || one.hasSession)
    },
    fallSilent: async () => {
      core.fault = () => ({ how: 'break' })
    },
  }
}

for (const generation of ['epc', '5gc'] as const) {
  coreDriverConformance(`driver-core-a, ${generation}`, async () => {
    const it = await world(generation, {}, { kickLimits: KICK_LIMITS })
    const technology = generation === 'epc' ? 'lte' : 'nr'
    it.core.phones.push(phone(1, technology))
    const daemon = generation === 'epc' ? 'mme' : 'amf'
    return {
      driver: it.a.driver,
      desired: DESIRED,
      otherDesired: { ...DESIRED, plmn: { mcc: '001', mnc: '05' }, tac: 9 },
      stranger: '001010000000001' as Imsi, // 15 digits
      phones: phonesOf(it, technology),
      configFiles: async () => new Map(await filesIn(it.dir)),
      failNextApply: async () => {
        it.engine.failing.set(`core-${daemon}`, `No ${daemon}.tai in '/etc/open5gs/${daemon}.yaml'`)
      },
      world: () => it.text(),
      close: () => it.close(),
    }
  })
}
