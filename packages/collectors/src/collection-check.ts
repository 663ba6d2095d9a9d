import { eachPaced } from '@steeple/contracts'

const HASH = /^[0-9a-f]{12}$/
const STATES: readonly unknown[] = ['active', 'idle', 'ended']
/** Of a sighting, where the source knows them. */
const SIGHTED_TEXTS = ['plmn', 'address', 'prefix', 'cell'] as const
/** An APN has 100 characters (TS 23.003 clause 9.1), references are the sources' own: far longer is none. */
const MOST_CHARACTERS = 1_000
const TECHNOLOGIES: readonly unknown[] = ['lte', 'nr']

/**
 * What is wrong with what a collector gave, in words that name no subscriber; undefined when nothing is. Collectors may be
 * anybody's plain JavaScript, and one bad row must not make the take of all others fail. Long lists are looked at in several turns.
 */
export async function collectionProblem(value: unknown): Promise<string | undefined> {
  const { sightings, isWhole, unseen = [], volumes, position, lost, over } = fieldsOf(value)
  if (!Array.isArray(sightings) || !Array.isArray(volumes)) return 'it gave no list of sightings or volumes'
  if (typeof isWhole !== 'boolean') return 'isWhole is no boolean'
  if (!Array.isArray(unseen) || unseen.some((one) => !TECHNOLOGIES.includes(one)))
    return 'unseen is no list of lte and nr'
  if (position !== undefined && typeof position !== 'string') return 'position is no text'
  if (over !== undefined && !isText(over)) return 'over is no text'
  if (lost !== undefined && !isLoss(lost)) return 'lost is no count of packets in a span'
  return (
    (await firstProblem('sightings', sightings, sightingProblem)) ??
    (await firstProblem('volumes', volumes, volumeProblem))
  )
}

async function firstProblem(
  name: string,
  rows: readonly unknown[],
  problem: (row: Fields) => string | undefined,
): Promise<string | undefined> {
  let first: string | undefined
  await eachPaced(rows.entries(), ([index, row]) => {
    const found = first === undefined ? problem(fieldsOf(row)) : undefined
    if (found !== undefined) first = `${name}.${index}: ${found}`
  })
  return first
}

function sightingProblem(row: Fields): string | undefined {
  if (!isHash(row.imsi)) return 'imsi is no hash'
  if (!isText(row.apn)) return 'apn is empty or too long'
  if (!isText(row.reference)) return 'reference is empty or too long'
  if (!STATES.includes(row.state)) return 'state is none of active, idle, ended'
  if (!TECHNOLOGIES.includes(row.technology)) return 'technology is neither lte nor nr'
  const wrong = SIGHTED_TEXTS.find((name) => row[name] !== undefined && !isText(row[name]))
  if (wrong !== undefined) return `${wrong} is no text`
  if (!isCount(row.seenAtMs)) return 'seenAtMs is no time'
  if (row.startedAtMs !== undefined && !isCount(row.startedAtMs)) return 'startedAtMs is no time'
  return undefined
}

function volumeProblem(row: Fields): string | undefined {
  if (!isKey(fieldsOf(row.key))) return 'its key names neither a session, an address nor a subscriber'
  if (!isCount(row.upBytes) || !isCount(row.downBytes)) return 'octets are no counts'
  if (!isSpan(row)) return 'its span ends before it begins'
  const { counter, generation, isBeginning = false } = fieldsOf(row.count)
  const isTotal = isText(counter) && isText(generation) && typeof isBeginning === 'boolean'
  if (row.count !== 'delta' && !isTotal) return 'count is neither delta nor a counter with its generation'
  return typeof row.isIncomplete === 'boolean' ? undefined : 'isIncomplete is no boolean'
}

function isKey(key: Fields): boolean {
  if (key.by === 'session') return isText(key.reference)
  if (key.by === 'address') return isText(key.address)
  return key.by === 'imsi' && isHash(key.imsi)
}

function isLoss(value: unknown): boolean {
  const loss = fieldsOf(value)
  return isCount(loss.packets) && isSpan(loss)
}

function isSpan({ fromMs, toMs }: Fields): boolean {
  return isCount(fromMs) && isCount(toMs) && Number(fromMs) <= Number(toMs)
}

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {} // each field is looked at
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && HASH.test(value)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= MOST_CHARACTERS
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
