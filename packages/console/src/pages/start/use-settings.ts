import { signal } from '@preact/signals'
import type { AnswerOf, Problem } from '@steeple/client'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { toast } from '../../ui/toast.tsx'

/** Keys, dotted, and what they are to be. */
export type Wanted = Readonly<Record<string, string | boolean>>
/** What the configuration file needs, of a dry run. */
export type Planned = AnswerOf<'PUT', '/v1/settings'>

/** Keys of the configuration that a page changes. */
export interface SettingsForm {
  /** What is in force of a key; undefined while it is not known. */
  readonly inForce: (key: string) => string | undefined
  /** Whether the configuration would be taken with them; nothing is written, and `error` says why not. */
  readonly isAllowed: (wanted: Wanted) => Promise<boolean>
  /** Writes them where nobody else has changed the file meanwhile, or says in `byHand` what a person has to write. */
  readonly save: (wanted: Wanted) => Promise<undefined>
  /** What the service cannot write itself, until it is in force. */
  readonly byHand: Planned | undefined
  readonly isBusy: boolean
  readonly error: Problem | undefined
  /** Forgets why it was refused. */
  readonly clear: () => void
}

/** A file that somebody else writes tells of nothing until it is read: it is looked at while somebody is awaited to write it. */
const LOOK_MS = 3_000

/** Counts what was awaited and has come into force, since no event tells of a file that was written by hand. */
export const broughtIntoForce = signal(0)

/** The configuration in force, and its change: by the service where it may, else by hand, watched until it counts; then `said`. */
export function useSettings(said: 'start.inForce' | 'start.saved' = 'start.inForce'): SettingsForm {
  const [waiting, setWaiting] = useState<{ readonly wanted: Wanted; readonly planned: Planned }>()
  const settings = useQuery(
    '/v1/settings',
    {},
    { on: ['settings.*'], ...(waiting === undefined ? {} : { everyMs: LOOK_MS }) },
  )
  const { etag: ifMatch } = settings
  const plan = useAction(async (wanted: Wanted) => {
    const planned = await api.put('/v1/settings', {
      query: { dry_run: true },
      body: { settings: wanted },
      ifMatch,
    })
    // Refused as stale: what is in force now is read, and shown beside what is typed. Tried before that, it would be refused again.
    if (!planned.ok) await settings.reloaded()
    return planned
  })
  const write = useAction((wanted: Wanted) =>
    api.put('/v1/settings', { body: { settings: wanted }, ifMatch }),
  )
  const inForce = (key: string): string | undefined => {
    const value = settings.data?.settings.find((one) => one.key === key)?.value
    return value === undefined ? undefined : String(value)
  }
  const isInForce =
    waiting !== undefined &&
    Object.entries(waiting.wanted).every(([key, value]) => inForce(key) === String(value))
  useEffect(() => {
    if (!isInForce) return
    setWaiting(undefined)
    broughtIntoForce.value += 1
    toast({ text: t(said) })
  }, [isInForce])
  useEffect(() => {
    if (broughtIntoForce.value > 0) settings.reload()
  }, [broughtIntoForce.value])
  const save = async (wanted: Wanted): Promise<undefined> => {
    const planned = await plan.run(wanted)
    if (planned?.ok !== true) return
    if (!planned.data.writable || planned.data.fixed.length > 0) {
      setWaiting({ wanted, planned: planned.data })
      return
    }
    setWaiting(undefined)
    const written = await write.run(wanted)
    settings.reload()
    if (written?.ok !== true) return
    toast({ text: t(said) })
  }
  return {
    inForce,
    isAllowed: async (wanted) => (await plan.run(wanted))?.ok === true,
    save,
    byHand: waiting?.planned,
    isBusy: plan.isBusy || write.isBusy,
    error: plan.error ?? write.error,
    clear: () => {
      plan.clear()
      write.clear()
    },
  }
}
