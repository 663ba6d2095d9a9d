import type { AnswerOf } from '@steeple/client'
import { useQuery } from '../../api/use-query.ts'

const LOOK = { on: ['tx.*', 'ran.*', 'health.*'], everyMs: 30_000 } as const

/** Whether no base station is there: a core keeps the sessions of phones that have lost their network. */
export function hasNoCell({ enb }: Pick<AnswerOf<'GET', '/v1/status'>, 'enb'>): boolean {
  return enb.known && !enb.connected && enb.other_networks.length === 0
}

/** The same as it is now; false while it is not known. */
export function useNoCell(): boolean {
  const { data } = useQuery('/v1/status', {}, LOOK)
  return data !== undefined && hasNoCell(data)
}
