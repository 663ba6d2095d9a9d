/** Series that the specification names itself; whichever plugin knows the facts may register them. */
const SPECIFIED = new Set(['svc_sessions_active', 'svc_sim_state', 'svc_attach_total'])

const FORBIDDEN_LABELS = /imsi|msisdn|imei|iccid|subscriber|(^|_)(ue|user|token|eid)(_|$)/

/** Runs of digits as long as an IMSI (TS 23.003 §2.2: at most 15, in practice 14 or 15) or an ICCID. */
const LIKE_IMSI = /\d{13,}/
/** Truncated or whole hashes: 12 hex characters or more in a row. */
const LIKE_HASH = /[0-9a-f]{12,}/i

/** Why a plugin may not register a metric of that name; undefined when it may. */
export function problemOfName(plugin: string, name: string): string | undefined {
  if (SPECIFIED.has(name)) return undefined
  const prefix = `svc_${plugin.replaceAll('-', '_')}_`
  return name.startsWith(prefix) && /^[a-z][a-z0-9_]*$/.test(name)
    ? undefined
    : `the name must begin with ${prefix}`
}

/** Whether a label of that name could only hold identifiers of subscribers or people. */
export function isForbiddenLabel(label: string): boolean {
  return FORBIDDEN_LABELS.test(label)
}

/** Whether a label's value looks like an IMSI or a hash of one. */
export function isPersonal(value: string): boolean {
  return LIKE_IMSI.test(value) || LIKE_HASH.test(value)
}
