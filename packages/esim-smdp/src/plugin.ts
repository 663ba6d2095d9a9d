import { createHmac } from 'node:crypto'
import {
  type ComponentHealth,
  type Context,
  closedItemsRef,
  type Db,
  drawnKey,
  handoutCodesRef,
  type Instance,
  isServiceError,
  type Plugin,
  pageRoutes,
  type Reader,
  type SealedColumns,
  simIssuerRef,
  subscribersRef,
  systemPrincipal,
  type Tx,
  type Vault,
  vaultRef,
} from '@steeple/contracts'
import { certificates } from './certs/certificates.ts'
import { isMadeForLab, makeLabCertificates } from './certs/keep.ts'
import { certStore } from './certs/store.ts'
import { followSims } from './codes/follow-sims.ts'
import { issueRoute } from './codes/issue-codes.ts'
import { closeCodes } from './codes/restored.ts'
import { configInForce, type EsimConfig } from './config.ts'
import { createEs2Service } from './es2/service.ts'
import { ES9_FUNCTIONS, type Es9Function } from './es9/core.ts'
import { createEs9, type Es9 } from './es9/es9.ts'
import { callersNetwork } from './es9/peers.ts'
import type { Handler } from './listen/exchange.ts'
import { type KeptListener, keptListener } from './listen/kept-listener.ts'
import { MIGRATIONS } from './migrations.ts'
import type { CertStore, EsimParts, Lookup, ProfileTemplate } from './parts.ts'
import { templatesInForce } from './profile/template-in-force.ts'
import { createCancels } from './providers/cancels.ts'
import { importCodesRoute } from './providers/import-route.ts'
import { createNotifications } from './providers/notify-route.ts'
import { orderFileRoute } from './providers/order-file.ts'
import { orderRoute } from './providers/order-route.ts'
import { providerRoutes } from './providers/provider-routes.ts'
import { codeRoutes } from './routes/code-routes.ts'
import { ES9_PREFIXES, es9Routes } from './routes/es9-routes.ts'
import { euiccRoutes } from './routes/euicc-routes.ts'
import { handoutCodes, mdmRoute, sheetRoute } from './routes/handout.ts'
import { countCodes } from './store/code-queries.ts'
import { CALLS, ORDERS, PROGRESS } from './store/es2-store.ts'
import { PROVIDED, PROVIDERS } from './store/provider-store.ts'
import {
  CERTS,
  CODE_STATES,
  CODES,
  DROPPED,
  EUICCS,
  HELD,
  KEYS,
  NOTICES,
  REVOKED,
  SESSIONS,
} from './store/rows.ts'

const ONE_CODE = 'select token from esim_smdp_code where hash = :hash limit 1'

/** Whether there is a code of a SIM. */
async function hasCodes(reader: Reader, hash: string): Promise<boolean> {
  return (await reader.get(ONE_CODE, { hash })) !== undefined
}

const TOKENS = '(select token from esim_smdp_code where hash = :hash)'
/** What names a code, and by it the eUICC that came for it. */
const OF_CODES: readonly string[] = [
  `delete from esim_smdp_notice where token in ${TOKENS}`,
  `delete from esim_smdp_session where token in ${TOKENS}`,
  `delete from esim_smdp_progress where token in ${TOKENS}`,
  `delete from esim_smdp_order where token in ${TOKENS}`,
  `delete from esim_smdp_provided where token in ${TOKENS}`,
]
const EUICCS_OF = `select eid_hash from esim_smdp_held where hash = :hash
  union select eid_hash from esim_smdp_code where hash = :hash and eid_hash is not null`
const STRANGER = `delete from esim_smdp_euicc where eid_hash = :eid
  and not exists (select 1 from esim_smdp_held where eid_hash = :eid)
  and not exists (select 1 from esim_smdp_code where eid_hash = :eid)`

/**
 * Removes the codes of a SIM, its orders, what eUICCs have told of them, and the EIDs of those that have nothing else of ours;
 * says how many codes there were.
 */
export async function removeCodesOf(tx: Tx, hash: string): Promise<number> {
  const euiccs = await tx.all<{ readonly eid_hash: string }>(EUICCS_OF, { hash })
  for (const sql of OF_CODES) await tx.run(sql, { hash })
  await tx.run('delete from esim_smdp_held where hash = :hash', { hash })
  const codes = await tx.run('delete from esim_smdp_code where hash = :hash', { hash })
  for (const { eid_hash: eid } of euiccs) await tx.run(STRANGER, { eid })
  return codes
}

/** ES9+ with TLS for phones, at `esim.listen`; none while eSIM is off. SGP.22 §2.6.6. */
function phoneListener({ context, certs }: EsimParts, es9: Es9): KeptListener {
  const handlerOf = (name: Es9Function): Handler => {
    return async ({ octets, peerAddress }) => await es9.call(name, octets, callersNetwork(peerAddress))
  }
  return keptListener({
    context,
    key: 'esim.listen',
    address: context.config.enabled ? context.config.listen : '',
    material: certs.tls,
    handlers: new Map(
      ES9_PREFIXES.flatMap((prefix) => ES9_FUNCTIONS.map((name) => [`${prefix}/${name}`, handlerOf(name)])),
    ),
  })
}

const ID = 'lookup'

/**
 * HMAC-SHA-256 of texts that must be found again and must not be stored: matching ids and ICCIDs. Throws `store_corrupt` when
 * its key does not open: then no code can be found, and another key would make that last.
 */
export function lookupBy(db: Db, vault: Vault): Lookup {
  const key = drawnKey(db, vault, {
    rowId: `esim_smdp_key/${ID}`,
    sealed: async (reader) => (await KEYS.find(reader, { id: ID }))?.key_sealed,
    keep: (tx, key_sealed) => KEYS.insertNew(tx, { id: ID, key_sealed }),
    isReplaced: false,
  })
  return {
    mac: async (text) =>
      createHmac('sha256', await key())
        .update(text, 'utf8')
        .digest(),
  }
}

/** The columns that are sealed under the vault key; AAD `<table>/<key>`. */
const SEALED: readonly SealedColumns[] = [
  { table: 'esim_smdp_code', key: 'token', columns: ['matching_sealed', 'confirmation_sealed'] },
  { table: 'esim_smdp_call', key: 'id', columns: ['answer_sealed'] },
  { table: 'esim_smdp_progress', key: 'id', columns: ['result_sealed'] },
  { table: 'esim_smdp_cert', key: 'id', columns: ['key_sealed'] },
  { table: 'esim_smdp_provider', key: 'id', columns: ['key_sealed'] },
  { table: 'esim_smdp_provided', key: 'token', columns: ['confirmation_sealed'] },
  { table: 'esim_smdp_key', key: 'id', columns: ['key_sealed'] },
  { table: 'esim_smdp_session', key: 'tid', columns: ['eid_sealed'] },
  { table: 'esim_smdp_euicc', key: 'eid_hash', columns: ['eid_sealed'] },
]

/** Tells the vault which columns it seals, so that a rotation of its key finds them. */
export function registerSealed(vault: Vault): void {
  for (const columns of SEALED) vault.register(columns)
}

const COUNT_MS = 30_000

/** Parts that a test may give instead of those that are made from the store and the configuration. */
export interface OwnParts {
  readonly certs?: CertStore
  readonly template?: () => ProfileTemplate
}

/** The plugin; a test may give some of its parts. */
export function esimPlugin(own: OwnParts = {}): Plugin<EsimConfig> {
  return {
    migrations: MIGRATIONS,
    tables: [
      CODES,
      SESSIONS,
      EUICCS,
      HELD,
      NOTICES,
      CERTS,
      DROPPED,
      REVOKED,
      KEYS,
      ORDERS,
      CALLS,
      PROGRESS,
      PROVIDERS,
      PROVIDED,
    ],
    restored: closeCodes,
    setup: async (context) => await setUp(context, own),
  }
}

/** Activation codes and an SM-DP+. */
export const plugin: Plugin<EsimConfig> = esimPlugin()

async function setUp(given: Context<EsimConfig>, own: OwnParts): Promise<Instance> {
  const config = configInForce(given.config, given.settings)
  const context: Context<EsimConfig> = Object.create(given, { config: { value: config } })
  const vault = context.use(vaultRef)
  registerSealed(vault)
  const held = await certStore(context, vault)
  const templates = templatesInForce(context.config)
  const certParts = { context, vault, certs: held }
  const certs = certificates(certParts)
  const parts: EsimParts = {
    context,
    vault,
    subscribers: context.use(subscribersRef),
    issuer: context.use(simIssuerRef),
    certs: own.certs ?? held,
    lookup: lookupBy(context.db, vault),
    closed: context.use(closedItemsRef),
    isMadeForLab: () => isMadeForLab(certParts),
    makeCertificates: () => makeLabCertificates(certParts),
    phones: () => phones.health(),
    template: own.template ?? ((profile = '') => templates.of(profile)),
    checkTemplates: own.template ?? templates.check,
  }
  const es9 = createEs9(parts)
  const count = codeCounts(parts)
  const phones = phoneListener(parts, es9)
  const es2 = createEs2Service(parts)
  const cancels = createCancels(parts)
  const notifications = createNotifications(parts)
  const stop = async (): Promise<void> => {
    await Promise.all([phones.stop(), es2.stop(), notifications.listener.stop()])
  }
  // Also when the start fails behind it.
  context.defer(stop)
  return {
    services: new Map([[handoutCodesRef.id, handoutCodes(parts)]]),
    routes: [
      issueRoute(parts),
      ...codeRoutes(parts),
      sheetRoute(parts),
      ...euiccRoutes(parts),
      ...providerRoutes(parts),
      orderFileRoute(parts),
      importCodesRoute(parts),
      orderRoute(parts),
      notifications.route,
      mdmRoute(parts),
      ...es9Routes(parts, es9),
      ...certs.routes,
      ...pageRoutes(import.meta.url, '/esim-files'),
    ],
    start: async () => {
      await certs.start()
      es9.start()
      await phones.start()
      await es2.start()
      await notifications.listener.start()
      cancels.start()
      context.every(COUNT_MS, count, 'each')
      await count()
      void followSims(parts)
      forgetCodes(parts)
    },
    stop,
    health: async () => [
      esimHealth(parts),
      certs.health(),
      ...[phones.health() ?? []].flat(),
      ...es2.health(),
      ...[notifications.listener.health() ?? []].flat(),
      ...cancels.health(),
    ],
  }
}

/** Gives the metric how many codes are in each state. */
function codeCounts({ context }: EsimParts): () => Promise<void> {
  const gauge = context.metrics.gauge('svc_esim_smdp_codes', 'Activation codes, by state.', ['state'])
  return async () => {
    const counts = await countCodes(context.db)
    for (const state of CODE_STATES) gauge.set(counts.get(state) ?? 0, { state })
  }
}

/** Forgets the codes of SIMs whose holders are forgotten: matching ids, confirmation codes, and which eUICC had them. */
function forgetCodes({ context }: EsimParts): void {
  context.on('sim.erase', async ({ subject }) => {
    if (!(await hasCodes(context.db, subject))) return
    await context.mutate(systemPrincipal('esim'), 'esim.erase', subject, async (tx) => {
      tx.audit({ detail: { codes: await removeCodesOf(tx, subject) } })
    })
  })
}

/** Whether a code that is issued now could be used. */
function esimHealth(parts: EsimParts): ComponentHealth {
  const part = { name: 'smdp', kind: 'feature' } as const
  const { enabled, smdp_address } = parts.context.config
  if (!enabled) return { ...part, status: 'ok', detail: 'eSIM is off (esim.enabled)' }
  if (smdp_address === '') return { ...part, status: 'degraded', detail: 'esim.smdp_address is empty' }
  const sets = parts.certs.identities()
  if (sets.length === 0 && parts.isMadeForLab())
    return {
      ...part,
      status: 'ok',
      detail: `${smdp_address}: test certificates are made with the first code`,
    }
  if (sets.length === 0)
    return { ...part, status: 'degraded', detail: 'there is no complete and valid set of certificates' }
  try {
    parts.checkTemplates()
  } catch (error) {
    const detail = isServiceError(error) ? error.message : 'the profile template cannot be used'
    return { ...part, status: 'degraded', detail }
  }
  const curves = [...new Set(sets.map(({ curve }) => curve))].join(', ')
  return { ...part, status: 'ok', detail: `${smdp_address}: ${sets.length} sets of certificates (${curves})` }
}
