import type { Settings } from '@steeple/contracts'
import { apnProblem, tacMax } from '@steeple/telecom'
import { CORE_CHECKS } from './core-checks.ts'
import { shownValue } from './describe-problem.ts'
import { suggestion } from './did-you-mean.ts'
import { isCidr, parseListenAddress } from './network-syntax.ts'

/** What the checks look at outside the configuration. */
export interface ConfigSurroundings {
  /** Names of the network interfaces of this machine. */
  interfaces(): readonly string[]
  /** Whether `svc node init` has made the keys of that data directory. */
  hasNodeKeys(dataDir: string): boolean
  /** Names of metrics that an alert rule may watch. */
  readonly metrics: readonly string[]
}

/** Takes a problem: the key with indexes after dots, what is wrong, other keys that may have caused it. */
export type Found = (key: string, message: string, also?: readonly string[]) => void

/** One check and the keys that it reads. It runs when the schema found nothing wrong with them. */
export interface Check {
  readonly keys: readonly string[]
  run(settings: Settings, found: Found, surroundings: ConfigSurroundings): void
}

/** Every check beyond types, in the order of the keys. */
export const CHECKS: readonly Check[] = [
  {
    keys: ['server.listen'],
    run: ({ server }, found) => {
      if (parseListenAddress(server.listen) !== undefined) return
      const forms = ':8080, 0.0.0.0:8080, localhost:8080 or [::1]:8080 with a port of 0 to 65535'
      found('server.listen', `must be an address such as ${forms}, not ${shownValue(server.listen, '')}`)
    },
  },
  {
    keys: ['server.mode', 'server.country'],
    run: ({ server }, found) => {
      if (server.mode !== 'rf' || !['', 'LAB'].includes(server.country)) return
      const message = 'must name the country (two letters, ISO 3166-1) when server.mode is rf'
      found('server.country', message, ['server.mode'])
    },
  },
  {
    keys: ['tac', 'core'],
    run: ({ tac, core }, found) => {
      const max = tacMax(core === 'core_a' ? 'lte' : 'nr')
      if (tac > max) found('tac', `must be 0 to ${max} with ${core}, not ${tac}`)
    },
  },
  {
    keys: ['apns'],
    run: ({ apns }, found) => checkApns('apns', apns, found),
  },
  {
    keys: ['policy.apns'],
    run: ({ policy }, found) => checkApns('policy.apns', policy.apns, found),
  },
  {
    keys: ['hss.driver', 'core'],
    run: ({ hss, core }, found) => {
      if (hss.driver !== 'core_b' || core === 'core_b') return
      found('hss.driver', `core_b works only with core: core_b, and core is ${core}`, ['core'])
    },
  },
  {
    keys: ['collector.upf.enabled', 'collector.upf.iface'],
    run: ({ collector: { upf } }, found, surroundings) => {
      if (!upf.enabled) return
      const names = surroundings.interfaces()
      if (names.includes(upf.iface)) return
      const which =
        upf.iface === '' ? 'must name an interface' : `names ${shownValue(upf.iface, '')}, which is none`
      const message = `${which} when collector.upf.enabled is true; this machine has ${names.join(', ')}`
      found('collector.upf.iface', message, ['collector.upf.enabled'])
    },
  },
  {
    keys: ['auth.metrics_allow'],
    run: ({ auth }, found) => {
      for (const [index, text] of auth.metrics_allow.entries()) {
        if (isCidr(text)) continue
        const message = `must be an address range such as 10.0.0.0/8 or fc00::/7, not ${shownValue(text, '')}`
        found(`auth.metrics_allow.${index}`, message)
      }
    },
  },
  ...CORE_CHECKS,
  {
    keys: ['store.url'],
    run: ({ store }, found) => {
      const problem = storeUrlProblem(store.url)
      if (problem !== undefined) found('store.url', problem)
    },
  },
  {
    keys: ['core_b', 'collector', 'hss.mongo_url', 'alerts'],
    run: (settings, found) => checkUrls(settings, found),
  },
  {
    keys: ['alerts.rules'],
    run: ({ alerts }, found, surroundings) => checkRules(alerts.rules, found, surroundings),
  },
  {
    keys: ['tls.enabled', 'server.data_dir'],
    run: ({ tls, server }, found, surroundings) => {
      if (!tls.enabled || surroundings.hasNodeKeys(server.data_dir)) return
      found('tls.enabled', `needs the node's keys, and ${server.data_dir}/keys has none; run svc node init`)
    },
  },
]

function checkApns(key: string, apns: readonly string[], found: Found): void {
  const seen = new Set<string>()
  for (const [index, apn] of apns.entries()) {
    const problem = apnProblem(apn)
    const lower = apn.toLowerCase()
    if (problem !== undefined) found(`${key}.${index}`, `${shownValue(apn, '')} is no APN: it ${problem}`)
    else if (seen.has(lower)) found(`${key}.${index}`, `names ${shownValue(apn, '')} twice`)
    seen.add(lower)
  }
}

function storeUrlProblem(url: string): string | undefined {
  if (url === 'sqlite::memory:') return 'must name a file; a store in memory forgets everything'
  if (!/^postgres(ql)?:/.test(url)) return undefined
  const parsed = URL.parse(url)
  const hasDatabase = parsed !== null && parsed.pathname.length > 1
  return hasDatabase ? undefined : 'must name a host and a database: postgres://<host>:<port>/<database>'
}

function checkUrls({ core_b, collector, hss, alerts }: Settings, found: Found): void {
  const urls: readonly (readonly [key: string, url: string])[] = [
    ['core_b.amf_oam_url', core_b.amf_oam_url],
    ['core_b.nrf_url', core_b.nrf_url],
    ['core_b.smf_oam_url', core_b.smf_oam_url],
    ['collector.mme_url', collector.mme_url],
    ['collector.smf_url', collector.smf_url],
    ...alerts.webhooks.map((webhook, index) => [`alerts.webhooks.${index}.url`, webhook.url] as const),
  ]
  for (const [key, url] of urls) {
    if (url !== '' && !URL.canParse(url)) found(key, `is no URL: ${shownValue(url, '')}`)
  }
  // MongoDB allows several hosts, which URL does not; its driver checks the rest.
  if (/\s/.test(hss.mongo_url)) found('hss.mongo_url', 'must not contain spaces')
}

function checkRules(
  rules: Settings['alerts']['rules'],
  found: Found,
  surroundings: ConfigSurroundings,
): void {
  const names = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    if (names.has(rule.name)) found(`alerts.rules.${index}.name`, `is used by two rules: ${rule.name}`)
    names.add(rule.name)
    if (surroundings.metrics.includes(rule.metric)) continue
    const near = suggestion(rule.metric, surroundings.metrics)
    found(`alerts.rules.${index}.metric`, `names ${rule.metric}, which is no metric of this service.${near}`)
  }
}
