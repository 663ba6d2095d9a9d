import { createPrivateKey } from 'node:crypto'
import type { RspCurve } from '@steeple/sgp22'
import { fakeClock } from '@steeple/testkit'
import type { RspIdentity } from '../../src/parts.ts'
import { fileDb } from './file-db.ts'
import { world } from './world.ts'

/** An identity as it goes to another process. */
export interface SentIdentity extends Omit<RspIdentity, 'auth' | 'pb'> {
  readonly curve: RspCurve
  readonly auth: { readonly der: Uint8Array; readonly key: string }
  readonly pb: { readonly der: Uint8Array; readonly key: string }
}
export type ToChild =
  | {
      readonly id: number
      readonly open: string
      readonly identity: SentIdentity
      readonly codes: number
      readonly nowMs: number
    }
  | { readonly id: number; readonly name: string; readonly body: unknown }

if (process.send !== undefined) serve()

/** Serves downloads over the channel to the parent until it is killed. */
function serve(): void {
  let opened: ReturnType<typeof world> | undefined
  const answer = (id: number, value: object): void => void process.send?.({ id, ...value })
  process.on('message', (message: ToChild) => {
    if ('open' in message) {
      const { identity, codes, nowMs } = message
      const db = fileDb(message.open)
      const keyed = (one: SentIdentity['auth']) => ({ der: one.der, key: createPrivateKey(one.key) })
      const whole: RspIdentity = { ...identity, auth: keyed(identity.auth), pb: keyed(identity.pb) }
      // Only its identity is used here: the phones are with the parent.
      opened = world({
        db,
        pki: { identity: whole } as never,
        config: { max_downloads: 1_000 },
        clock: fakeClock(nowMs),
      })
      void opened.then(async (all) => {
        const known = await db.get('select token from esim_smdp_code limit 1')
        // The SIMs are in no store here.
        for (let number = 1; number <= codes; number += 1)
          if (known === undefined) await all.issue(number)
          else all.states.set(number.toString(16).padStart(12, '0'), 'issued')
        answer(message.id, {})
      })
      return
    }
    void opened?.then(async (all) => answer(message.id, await all.call(message.name, message.body)))
  })
}
