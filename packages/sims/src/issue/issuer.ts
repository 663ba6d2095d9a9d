import {
  type ImsiHash,
  type SimCard,
  type SimCredentials,
  type SimIssuer,
  simNotFound,
  type Vault,
} from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { openCard, openImsi, wipeCard } from '../secrets/card.ts'
import { homeKeysOf, homeNetworkKeys } from '../secrets/suci-info.ts'
import { changeSim } from '../states/change.ts'
import { type CardSim, cardsAmong, cardsOfBatchAfter } from '../store/card-store.ts'
import { SIMS, type SimRow } from '../store/sim-store.ts'
import { viewOf } from '../subscribers.ts'
import { prepareIssue } from './issue.ts'
import { ISSUE_BODY, type IssueBody } from './issue-schema.ts'

/** The service that others issue SIMs by, and open what is sealed. */
export function simIssuer(parts: SimsParts): SimIssuer {
  const { context, vault } = parts
  return {
    bodySchema: ISSUE_BODY,
    prepare: async (body, asker) => {
      // The edge has checked it against `bodySchema`.
      const issue = await prepareIssue(parts, body as IssueBody, asker)
      const { rows, batch } = issue.drawn
      const byHash = new Map(rows.map((row) => [row.hash, row]))
      return {
        cards: rows.map(cardOf),
        batchId: batch.id,
        credentials: (imsi) => {
          const row = byHash.get(imsi)
          if (row === undefined) throw simNotFound(imsi)
          return credentialsOf(vault, row)
        },
        issueIn: async (tx) => {
          const detail = await issue.issueIn(context.db.join(tx))
          // The event of the mutation is the caller's; whoever listens for SIMs hears of these all the same.
          for (const { hash, profile } of rows)
            tx.tell({ type: 'sim.issue', subject: hash, data: { batch_id: batch.id, count: 1, profile } })
          return { detail }
        },
      }
    },
    credentials: async (imsi) => {
      const row = await SIMS.find(context.db, { hash: imsi })
      if (row === undefined) throw simNotFound(imsi)
      return credentialsOf(vault, row)
    },
    sim: async (imsi) => {
      const row = await SIMS.find(context.db, { hash: imsi })
      if (row === undefined) return undefined
      return {
        view: viewOf(row),
        msisdn: row.msisdn ?? undefined,
        iccid: () => iccidOf(vault, row),
        credentials: () => credentialsOf(vault, row),
      }
    },
    cards: async (imsis) => (await cardsAmong(context.db, imsis)).map(cardOf),
    batch: async (batchId, after, limit) =>
      (await cardsOfBatchAfter(context.db, batchId, after, limit)).map(cardOf),
    byIccid: async (iccid) => {
      const hash = await holderOf(parts, iccid)
      const [card] = hash === undefined ? [] : await cardsAmong(context.db, [hash])
      return card && cardOf(card)
    },
    homeNetworkKeys: async () =>
      await homeNetworkKeys(context.settings.server.data_dir, homeKeysOf(context.settings)),
    revokeIn: async (tx, imsi) => {
      await changeSim(parts, context.db.join(tx), imsi, { action: 'revoke' })
    },
  }
}

async function holderOf({ context, iccids }: SimsParts, iccid: string): Promise<string | undefined> {
  const mac = (await iccids.mac())(iccid)
  return await iccids.holder(context.db, { iccid, mac }, await iccids.indexedTo(context.db))
}

function cardOf(row: CardSim): SimCard {
  return {
    // A hash of the store is one.
    imsi: row.hash as ImsiHash,
    state: row.state,
    label: row.label ?? undefined,
    batchId: row.batch_id ?? undefined,
    iccidLast4: row.iccid_last4 ?? undefined,
  }
}

function iccidOf(vault: Vault, row: SimRow): Uint8Array {
  const card = openCard(vault, row)
  const iccid = Uint8Array.from(card.iccid)
  wipeCard(card)
  return iccid
}

function credentialsOf(vault: Vault, row: SimRow): SimCredentials {
  const imsi = openImsi(vault, row)
  const card = openCard(vault, row)
  return { imsi, ...card, wipe: () => wipeCard(card) }
}
