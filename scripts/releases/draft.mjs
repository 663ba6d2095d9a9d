// What the changesets say, grouped by whom it matters to: what a person makes notes of a release from.

/** Packages by what people do with them. A changeset stands under the first heading that has a package of its, in this order. */
const AREAS = [
  ['SIMs and subscribers', ['sims', 'driver-hss']],
  ['eSIM', ['esim-smdp', 'sgp22', 'virtual-euicc']],
  ['Usage and quotas', ['sessions', 'fair-use', 'collector-gtpu', 'collector-cdr', 'collectors']],
  ['Cores', ['driver-core-a', 'driver-core-b', 'core-config', 'southbound', 'open5gs-info', 'free5gc-oam']],
  ['Radio and spectrum', ['driver-ran', 'policy', 'telecom']],
  ['Mesh of boxes', ['mesh', 'nodes']],
  ['People and access', ['access']],
  ['Regulators and privacy', ['compliance', 'regulator-file', 'audit']],
  ['Alerts, monitoring, support', ['alerts', 'support', 'telemetry', 'tracing']],
  ['Backup and store', ['backup', 'store', 'secrets', 'clock']],
  ['Plugins and drivers', ['plugin-packages', 'testkit', 'reconcile', 'kernel', 'contracts']],
  ['API, command line, packages', ['api', 'settings', 'cli', 'lab-core']],
]
const OTHER = 'Other'

/** A changeset's text as `{packages, text}`; names of packages are without their scope. */
export function readChangeset(text) {
  const [, head = '', body = ''] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text) ?? []
  const packages = [...head.matchAll(/^["']([^"']+)["']:/gm)].map(([, name]) => name.replace('@steeple/', ''))
  return { packages, text: body.trim() }
}

/** Lines of Markdown below a heading for each area: each changeset as one item, in their order. */
export function draftOf(changesets) {
  const areaOf = ({ packages }) =>
    AREAS.find(([, names]) => names.some((name) => packages.includes(name)))?.[0] ?? OTHER
  const grouped = Map.groupBy(changesets, areaOf)
  return [...AREAS.map(([title]) => title), OTHER]
    .filter((title) => grouped.has(title))
    .map((title) => `### ${title}\n\n${grouped.get(title).map(itemOf).join('\n')}\n`)
    .join('\n')
}

function itemOf({ text }) {
  return `- ${text.replaceAll(/\n\n+/g, ' ').replaceAll('\n', '\n  ')}`
}
