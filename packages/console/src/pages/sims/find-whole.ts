import type { Problem } from '@steeple/client'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { Sim } from './sim.tsx'

/** What a whole IMSI, ICCID or number has led to. */
export interface Found {
  readonly rows: readonly Sim[]
  readonly error: Problem | undefined
  readonly isLoading: boolean
}

/** From that many digits on it is an ICCID: ITU-T E.118. IMSIs and numbers have at most 15. */
const ICCID_DIGITS = 18

/** Finds by what must stand in no address and no log: it goes in the body of a request. Undefined digits find nothing. */
export function useWhole(digits: string | undefined): Found | undefined {
  const [found, setFound] = useState<Found | undefined>(undefined)
  useEffect(() => {
    if (digits === undefined) return setFound(undefined)
    let isOver = false
    setFound({ rows: [], error: undefined, isLoading: true })
    void find(digits).then((result) => {
      if (!isOver) setFound(result)
    })
    return () => {
      isOver = true
    }
  }, [digits])
  return found
}

async function find(digits: string): Promise<Found> {
  const bodies = digits.length >= ICCID_DIGITS ? [{ iccid: digits }] : [{ imsi: digits }, { msisdn: digits }]
  let error: Problem | undefined
  for (const body of bodies) {
    const answer = await api.post('/v1/sims/find', { body })
    if (answer.ok && answer.data.sims.length > 0)
      return { rows: answer.data.sims, error: undefined, isLoading: false }
    if (!answer.ok) error ??= answer.error
  }
  return { rows: [], error, isLoading: false }
}
