import { assert, eventually } from '@steeple/testkit'
import { type Answer, ask as askOnce, type RequestOptions } from '../service.ts'

/** How long a writer waits for one answer before it asks elsewhere. */
const PATIENCE_MS = 4_000
const AGAIN_MS = 50

/** Somebody to ask: an instance or what stands in front of several. */
export interface Front {
  /** None once the test is over. */
  readonly urls: () => readonly string[]
  readonly token: string
}

/** What writers were answered, to be compared with what is stored. */
export interface Books {
  /** Id of every token whose creation was answered, by name. */
  readonly answered: Map<string, string>
  /** When each answer came, ms. */
  readonly answeredAt: number[]
  replayed: number
}

/** Writers that go on until they are stopped: each repeats a request, with its key, until it is answered. */
export interface Writers {
  readonly books: Books
  stop(): Promise<Books>
}

/** Starts `count` writers. */
export function startWriters(front: Front, count: number): Writers {
  const books: Books = { answered: new Map(), answeredAt: [], replayed: 0 }
  let isOver = false
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; !isOver; n++) await create(front, books, `w-${writer}-${n}`, writer + n)
  }
  const writing = Promise.all(Array.from({ length: count }, (_, writer) => write(writer)))
  // A test that failed does not wait for them.
  writing.catch(() => undefined)
  return {
    books,
    stop: async () => {
      isOver = true
      await writing
      return books
    },
  }
}

async function create(front: Front, books: Books, name: string, first: number): Promise<void> {
  for (let attempt = first; ; attempt++) {
    const urls = front.urls()
    if (urls.length === 0) throw new Error('the test is over')
    const answer = await ask(front, urls[attempt % urls.length] ?? '', 'POST', '/v1/tokens', {
      body: { name, roles: ['viewer'] },
      headers: { 'idempotency-key': `key-${name}` },
    }).catch(() => undefined)
    if (answer?.status === 201) {
      books.answered.set(name, String(answer.body.id))
      books.answeredAt.push(performance.now())
      if (answer.headers.get('idempotency-replayed') === 'true') books.replayed++
      return
    }
    // Refused for good is nothing that an outage explains: 409 is the same request, still under way elsewhere.
    const isTransient = answer === undefined || answer.status >= 500 || answer.status === 409
    assert.ok(isTransient, `${name}: ${answer?.status} ${JSON.stringify(answer?.body)}`)
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

/** One request; rejects when nothing answers in time. */
export function ask(
  { token }: Pick<Front, 'token'>,
  url: string,
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<Answer> {
  return askOnce(url, method, path, { token, signal: AbortSignal.timeout(PATIENCE_MS), ...options })
}

/** The longest time without an answer that ended after `sinceMs`. */
export function longestGapMs({ answeredAt }: Books, sinceMs: number): number {
  const times = answeredAt.filter((ms) => ms > sinceMs).toSorted((a, b) => a - b)
  return Math.max(0, ...times.map((ms, i) => ms - (times[i - 1] ?? sinceMs)))
}

/** Everything that was answered is there once, with one entry of the trail; nothing is there twice. */
export async function judge(
  front: Pick<Front, 'token'>,
  url: string,
  books: Pick<Books, 'answered'>,
): Promise<void> {
  const stored = new Map<string, string[]>()
  const created = new Map<string, number>()
  await pages(front, url, '/v1/tokens', 'tokens', ({ name, id }: { name: string; id: string }) => {
    stored.set(name, [...(stored.get(name) ?? []), id])
  })
  await pages(
    front,
    url,
    '/v1/audit?action=token.create',
    'entries',
    ({ target, outcome }: { target: string; outcome: string }) => {
      if (outcome === 'ok') created.set(target, (created.get(target) ?? 0) + 1)
    },
  )
  assert.ok(books.answered.size > 50, `only ${books.answered.size} writes were answered`)
  for (const [name, id] of books.answered)
    assert.equal(stored.get(name), [id], `${name} was answered with ${id}`)
  for (const [name, ids] of stored) {
    assert.is(ids.length, 1, `${name} was applied ${ids.length} times`)
    assert.is(created.get(ids[0] ?? ''), 1, `${name} has one entry in the audit trail`)
  }
}

async function pages(
  front: Pick<Front, 'token'>,
  url: string,
  path: string,
  key: string,
  see: (item: never) => void,
): Promise<void> {
  let cursor: string | null = null
  do {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const where = `${path}${path.includes('?') ? '&' : '?'}limit=500${more}`
    let answer = await ask(front, url, 'GET', where).catch(() => undefined)
    await eventually(async () => {
      if (answer?.status !== 200) answer = await ask(front, url, 'GET', where)
      return answer.status === 200
    })
    const { body } = answer ?? { body: {} }
    for (const item of body[key]) see(item as never)
    cursor = body.next_cursor
  } while (cursor !== null)
}
