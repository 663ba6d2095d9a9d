import {
  type Context,
  closedItemsRef,
  type Instance,
  type Plugin,
  simIssuerRef,
  subscribersRef,
  vaultRef,
} from '@steeple/contracts'
import { certificates } from './certs/certificates.ts'
import { isMadeForLab, makeLabCertificates } from './certs/lab.ts'
import { certStore } from './certs/store.ts'
import { codeCounts } from './codes/count.ts'
import { followSims } from './codes/follow-sims.ts'
import { forgetCodes } from './codes/forget-codes.ts'
import { closeCodes } from './codes/restored.ts'
import { configInForce, type EsimConfig } from './config.ts'
import { createEs2Service } from './es2/service.ts'
import { createEs9 } from './es9/es9.ts'
import { esimHealth } from './health.ts'
import { lookupBy } from './keys/lookup.ts'
import { registerSealed } from './keys/sealed.ts'
import { phoneListener } from './listen/phone-listener.ts'
import { MIGRATIONS } from './migrations.ts'
import type { CertStore, EsimParts, ProfileTemplate } from './parts.ts'
import { templatesInForce } from './profile/template-in-force.ts'
import { codeRoutes } from './routes/code-routes.ts'
import { es9Routes } from './routes/es9-routes.ts'
import { euiccRoutes } from './routes/euicc-routes.ts'
import { issueRoute } from './routes/issue-route.ts'
import { qrRoute } from './routes/qr-route.ts'
import { sheetRoute } from './routes/sheet-route.ts'
import { CALLS, ORDERS, PROGRESS } from './store/es2-rows.ts'
import { CERTS, CODES, DROPPED, EUICCS, HELD, KEYS, NOTICES, REVOKED, SESSIONS } from './store/rows.ts'

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
    tables: [CODES, SESSIONS, EUICCS, HELD, NOTICES, CERTS, DROPPED, REVOKED, KEYS, ORDERS, CALLS, PROGRESS],
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
  const stop = async (): Promise<void> => {
    await Promise.all([phones.stop(), es2.stop()])
  }
  // Also when the start fails behind it.
  context.defer(stop)
  return {
    routes: [
      issueRoute(parts),
      ...codeRoutes(parts),
      qrRoute(parts),
      sheetRoute(parts),
      ...euiccRoutes(parts),
      ...es9Routes(parts, es9),
      ...certs.routes,
    ],
    start: async () => {
      await certs.start()
      es9.start()
      await phones.start()
      await es2.start()
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
    ],
  }
}
