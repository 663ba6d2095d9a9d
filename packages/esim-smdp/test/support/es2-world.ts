import { createHash, randomInt } from 'node:crypto'
import type { Db, ImsiHash, PreparedSims, SimCard, SubscriberView } from '@steeple/contracts'
import { callerOf, ES2_FUNCTIONS, type Es2Caller, es2Metrics } from '../../src/es2/core.ts'
import { createEs2 } from '../../src/es2/es2.ts'
import type { EsimParts } from '../../src/parts.ts'
import type { Pki } from './pki.ts'
import { codeOf, hashOf, iccidOf, type World, world } from './world.ts'

/** ES2+ without a listener, an edge and SIMs. */
export interface Es2World {
  readonly all: World
  /** One call of the order system with that name: `subject/reason` or `ok`, and its members. */
  call(
    who: string,
    name: string,
    body: object,
    callId: string,
  ): Promise<{ readonly code: string; readonly body: Readonly<Record<string, string>> }>
}

/** Numbers of SIMs that are drawn begin here. */
const DRAWN = 1_000_000

/** A world with ES2+. Every number is a SIM that can be ordered by its ICCID, and any can be drawn. */
export async function es2World(options: { readonly db?: Db; readonly pki?: Pki } = {}): Promise<Es2World> {
  const all = await world(options)
  const { states } = all
  const cardOf = (number: number): SimCard => ({
    imsi: hashOf(number),
    state: states.get(hashOf(number)) ?? 'issued',
    label: undefined,
    batchId: undefined,
    iccidLast4: iccidOf(number).slice(-4),
  })
  const parts: EsimParts = {
    ...all.parts,
    subscribers: {
      ...all.parts.subscribers,
      find: async (imsi: ImsiHash) =>
        ({ imsi, state: states.get(imsi) ?? 'issued', plmn: '999-70', profile: 'default' }) as SubscriberView,
    },
    issuer: {
      ...all.parts.issuer,
      byIccid: async (iccid) => {
        const number = Number(iccid.slice(7, 18))
        const card = cardOf(number)
        return iccidOf(number) === iccid && card.state !== 'revoked' ? card : undefined
      },
      revokeIn: async (_tx, imsi) => {
        states.set(imsi, 'revoked')
      },
      prepare: async (): Promise<PreparedSims> => {
        const card = cardOf(DRAWN + randomInt(1_000_000))
        const credentials = await all.parts.issuer.credentials(card.imsi)
        return {
          cards: [card],
          batchId: 'b',
          credentials: () => credentials,
          issueIn: async () => ({ detail: {} }),
        }
      },
    },
  }
  const es2 = createEs2(parts, es2Metrics(parts.context.metrics))
  return {
    all,
    call: async (who, name, body, callId) => {
      const found = ES2_FUNCTIONS.find((one) => one === name)
      if (found === undefined) throw new Error(`no function ${name}`)
      const header = { functionRequesterIdentifier: who, functionCallIdentifier: callId }
      const answer = await es2.call(found, Buffer.from(JSON.stringify({ header, ...body })), callerNamed(who))
      // What es2.call gives beside the header is texts.
      return { code: codeOf(answer.body), body: answer.body as Readonly<Record<string, string>> }
    },
  }
}

function callerNamed(name: string): Es2Caller {
  return callerOf({
    subject: `O=BSS\nCN=${name}`,
    sha256: createHash('sha256').update(name).digest('hex'),
    authority: '',
  })
}
