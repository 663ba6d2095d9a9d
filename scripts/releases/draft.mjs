// What the changesets say, grouped by whom it matters to: what a person makes notes of a release from.

/** Packages by what people do with them. A changeset stands under the first heading that has a subject of its, in this order. */
const AREAS = [
  ['SIMs and subscribers', ['sims', 'driver-hss', 'card-writer']],
  ['eSIM', ['esim-smdp', 'sgp22', 'virtual-euicc']],
  [
    'Usage and quotas',
    [
      'sessions',
      'fair-use',
      'collector-gtpu',
      'collector-cdr',
      'collector-mme',
      'collector-amf',
      'collectors',
    ],
  ],
  ['Cores', ['driver-core-a', 'driver-core-b', 'core-config', 'southbound', 'http-client']],
  ['Radio and spectrum', ['driver-ran', 'policy', 'telecom']],
  ['Mesh of boxes', ['mesh', 'nodes', 'roaming', 'groups']],
  ['Console', ['console']],
  ['People and access', ['access']],
  ['Regulators and privacy', ['compliance']],
  ['Alerts, monitoring, support', ['alerts', 'support', 'tracing']],
  ['Backup and store', ['backup', 'store', 'secrets']],
  ['Plugins and drivers', ['plugin-kit', 'testkit', 'kernel', 'contracts']],
  ['API, command line, packages', ['api', 'client', 'settings', 'cli', 'site', 'lab-core']],
]
const OTHER = 'Other'

/** What a person must mind at an upgrade: a paragraph of a changeset that begins so stands before all else. */
const MIND = /^Mind: /

/**
 * A changeset's text as `{packages, subjects, text}`; names of packages are without their scope. `subjects` are those that it is about:
 * a patch beside something new is what others needed for it.
 */
export function readChangeset(text) {
  const [, head = '', body = ''] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text) ?? []
  const named = [...head.matchAll(/^["'](?:@steeple\/)?([^"']+)["']: *(\w+)/gm)]
  const isNew = named.some(([, , bump]) => bump !== 'patch')
  return {
    packages: named.map(([, name]) => name),
    subjects: named.filter(([, , bump]) => !isNew || bump !== 'patch').map(([, name]) => name),
    text: body.trim(),
  }
}

/**
 * Lines of Markdown below a heading for each area: each changeset as one item, in their order. What must be minded comes
 * first, under a heading of its own.
 */
export function draftOf(changesets) {
  const areaOf = ({ subjects }) =>
    AREAS.find(([, names]) => names.some((name) => subjects.includes(name)))?.[0] ?? OTHER
  const parted = changesets.map(partedOf)
  const minded = parted.flatMap(({ mind }) => mind)
  const grouped = Map.groupBy(
    parted.filter(({ text }) => text !== ''),
    areaOf,
  )
  const areas = [...AREAS.map(([title]) => title), OTHER].filter((title) => grouped.has(title))
  return [
    ...(minded.length === 0 ? [] : [`### Mind, when you upgrade\n\n${minded.map(itemOf).join('\n')}\n`]),
    ...areas.map((title) => `### ${title}\n\n${grouped.get(title).map(itemOf).join('\n')}\n`),
  ].join('\n')
}

function partedOf({ subjects, text }) {
  const paragraphs = text.split(/\n\n+/)
  return {
    subjects,
    text: paragraphs.filter((one) => !MIND.test(one)).join('\n\n'),
    mind: paragraphs.filter((one) => MIND.test(one)).map((one) => ({ text: one.replace(MIND, '') })),
  }
}

function itemOf({ text }) {
  return `- ${text.replaceAll(/\n\n+/g, ' ').replaceAll('\n', '\n  ')}`
}
