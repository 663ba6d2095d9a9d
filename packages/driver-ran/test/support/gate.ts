import { type RadioProfile, southboundUnavailable, type TxGate, txNotArmed } from '@steeple/contracts'

/** A TX gate that a test opens and closes. */
export interface FakeGate extends TxGate {
  arm(profileId: string): void
  disarm(): void
  /** Each question rejects as a store that is away would. */
  isAway: boolean
  /** Awaited before each answer of `permit`; what is read is read before it. */
  slow: (() => Promise<void>) | undefined
  readonly asked: number
}

/** A closed gate over those profiles. */
export function fakeGate(profiles: Readonly<Record<string, RadioProfile>>): FakeGate {
  let armed: string | undefined
  let asked = 0
  const gate: FakeGate = {
    isAway: false,
    slow: undefined,
    get asked() {
      return asked
    },
    arm: (profileId) => {
      armed = profileId
    },
    disarm: () => {
      armed = undefined
    },
    state: async () => {
      if (gate.isAway) throw southboundUnavailable('the store is away')
      const gates = { country_code: 'set', license_ack: 'set', allow_list: 'set' } as const
      const transmitter = armed === undefined ? 'off' : 'on'
      return { armed: armed !== undefined, gates, profile: armed, transmitter }
    },
    permit: async (profileId) => {
      asked += 1
      if (gate.isAway) throw southboundUnavailable('the store is away')
      const profile = armed === profileId ? profiles[profileId] : undefined
      await gate.slow?.()
      if (profile === undefined) throw txNotArmed('TX is not armed')
      return profile
    },
    permitCarrier: async () => undefined,
  }
  return gate
}
