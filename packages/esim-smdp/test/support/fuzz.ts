import { seededDraw } from '@steeple/testkit'
import { type Fields, good, type Handset, handset } from './handset.ts'
import { mutated } from './mutate.ts'
import { ADDRESS, type World, world } from './world.ts'

/** What came out of a run. */
export interface FuzzResult {
  readonly calls: number
  /** How often each answer came, by `function subject/reason`. */
  readonly answers: ReadonlyMap<string, number>
}

/** A request that would go well as it is. */
interface Ready {
  readonly name: string
  readonly body: Fields
}

/** The store is made anew after so many calls. */
const FRESH_EVERY = 2_000
const EUICC = 77

/**
 * Sends `calls` changed requests to a server with open sessions. Throws for an answer that is not of SGP.22's form, and for
 * anything that the server had to log as an error.
 */
export async function fuzz(seed: number, calls: number): Promise<FuzzResult> {
  const draw = seededDraw(seed)
  const answers = new Map<string, number>()
  let all = await world()
  let makers = makersFor(all)
  let ready = await Promise.all(makers.map((make) => make()))
  for (let at = 0; at < calls; at += 1) {
    if (at > 0 && at % FRESH_EVERY === 0) {
      await all.close()
      all = await world()
      makers = makersFor(all)
      ready = await Promise.all(makers.map((make) => make()))
    }
    const place = draw(ready.length)
    const one = ready[place]
    const make = makers[place]
    if (one === undefined || make === undefined) throw new Error('there are requests')
    const answer = await all.call(one.name, mutated(one.body, draw))
    const key = `${one.name} ${answer.code}`
    answers.set(key, (answers.get(key) ?? 0) + 1)
    checkAnswer(all, one.name, answer, `seed ${seed}, call ${at}`)
    if (answer.code === 'ok' && one.name !== 'initiateAuthentication') ready = ready.with(place, await make())
  }
  await all.close()
  return { calls, answers }
}

function checkAnswer(
  all: World,
  name: string,
  answer: { readonly status: number; readonly code: string; readonly body: unknown },
  where: string,
): void {
  const isNotice = name === 'handleNotification'
  const isFormed = isNotice
    ? answer.status === 204 && answer.body === undefined
    : answer.status === 200 && /^(ok|8(\.\d+)+\/\d\.\d+)$/.test(answer.code)
  if (!isFormed) throw new Error(`${where}: ${name} was answered ${answer.status} ${answer.code}`)
  const failure = all.fake.logs.find(({ level }) => level === 'error')
  // The facts hold the error as it was thrown.
  const thrown = failure === undefined ? undefined : (failure.facts as { readonly err?: unknown }).err
  if (failure !== undefined) throw new Error(`${where}: ${name} failed inside`, { cause: thrown })
}

/** Each gives a request that would go well as it is, of a session of its own. */
function makersFor(all: World): readonly (() => Promise<Ready>)[] {
  let number = 0
  const begun = async (): Promise<{ readonly phone: Handset; readonly first: Fields }> => {
    const phone = handset(all.euicc(EUICC), ADDRESS)
    return { phone, first: await good(all, 'initiateAuthentication', phone.initiate()) }
  }
  const authenticate = async (): Promise<{ readonly phone: Handset; readonly body: Fields }> => {
    const { phone, first } = await begun()
    number += 1
    return { phone, body: phone.authenticate(first, (await all.issue(number)).matchingId) }
  }
  const proven = async (): Promise<{ readonly phone: Handset; readonly answer: Fields }> => {
    const { phone, body } = await authenticate()
    return { phone, answer: await good(all, 'authenticateClient', body) }
  }
  const notice = async (place: number): Promise<Ready> => {
    const { phone, answer } = await proven()
    const notices = phone.install(await good(all, 'getBoundProfilePackage', phone.prepare(answer)))
    return { name: 'handleNotification', body: notices[place] ?? {} }
  }
  return [
    async () => ({
      name: 'initiateAuthentication',
      body: handset(all.euicc(EUICC), ADDRESS).initiate(),
    }),
    async () => ({ name: 'authenticateClient', body: (await authenticate()).body }),
    async () => {
      const { phone, answer } = await proven()
      return { name: 'getBoundProfilePackage', body: phone.prepare(answer) }
    },
    async () => {
      const { phone, answer } = await proven()
      return { name: 'cancelSession', body: phone.cancel(answer, 0) }
    },
    () => notice(0),
    () => notice(1),
  ]
}
