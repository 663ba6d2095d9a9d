import type { ItemOf } from '@steeple/client'
import { t, word } from '../../text/index.ts'
import { Lamp, type Tone } from '../../ui/parts.tsx'

/** A SIM, as the list has it. */
export type Sim = ItemOf<'/v1/sims'>

/** States of a SIM, in the order of its life. */
export const STATES = ['issued', 'in-use', 'suspended', 'expired', 'revoked'] as const

const TONES: Readonly<Record<string, Tone>> = {
  'in-use': 'ok',
  suspended: 'warn',
  expired: 'bad',
  revoked: 'bad',
}

/** The state of a SIM in words. */
export function stateText({ state, suspend_reason: reason }: Pick<Sim, 'state' | 'suspend_reason'>): string {
  if (state !== 'suspended' || reason === null) return word('sims.state', state)
  return t('sims.state.suspendedBy', { who: word('sims.reason', reason) })
}

/** The state of a SIM as a light with words. */
export function SimState({ sim }: { readonly sim: Pick<Sim, 'state' | 'suspend_reason'> }) {
  return <Lamp tone={TONES[sim.state] ?? 'none'} label={stateText(sim)} />
}

/** Whether its phone is on the network, as far as the core tells. */
export function Attached({ attached }: Pick<Sim, 'attached'>) {
  if (attached === null) return <Lamp tone="none" label={t('sims.attached.unknown')} />
  return (
    <Lamp tone={attached ? 'on' : 'none'} label={t(attached ? 'sims.attached.yes' : 'sims.attached.no')} />
  )
}

/** How people call it: its label, or its hash. */
export function nameOf({ label, imsi_sha256_12: hash }: Pick<Sim, 'label' | 'imsi_sha256_12'>): string {
  return label ?? hash
}

export function pageOf(hash: string): string {
  return `/sims/${hash}`
}
