import { assert } from '@steeple/testkit'
import type { Service } from '../service.ts'
import type { Place } from './files.ts'
import { found, type Needle } from './needles.ts'

/** What was found where, at most ten places. All places are searched as one text first: there are many. */
export function whereFound(needles: readonly Needle[], places: readonly Place[]): readonly string[] {
  const names = found(needles, Buffer.concat(places.flatMap(({ content }) => [content, Buffer.from('\n')])))
  const hit = needles.filter(({ name }) => names.includes(name))
  return places
    .flatMap(({ name, content }) => found(hit, content).map((what) => `${what} in ${name}`))
    .filter((line, index, all) => all.indexOf(line) === index)
    .slice(0, 10)
}

/** What a path answers, as text. */
export async function textOf(service: Service, path: string): Promise<string> {
  const { body } = await service.request('GET', path)
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** All pages of a list, as text. */
export async function everyPage(service: Service, path: string): Promise<string> {
  let text = ''
  let cursor = ''
  do {
    const { status, body } = await service.request('GET', `${path}?limit=500${cursor}`)
    assert.is(status, 200, path)
    text += JSON.stringify(body)
    cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
  } while (cursor !== '')
  return text
}

/** Gathers the event stream from the answer to now until the service ends it; gives what came so far. */
export async function followEvents(of: Service): Promise<() => string> {
  const { status, body } = await fetch(`${of.url}/v1/events`, {
    headers: { authorization: `Bearer ${of.adminToken}` },
  })
  assert.is(status, 200)
  let text = ''
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of body ?? []) text += decoder.decode(chunk, { stream: true })
  }
  // It ends with the service.
  read().catch(() => undefined)
  return () => text
}
