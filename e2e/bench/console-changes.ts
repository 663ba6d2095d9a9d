import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, tempDir } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type EventStream, openEvents } from '../harness/event-client.ts'
import { imsiHashOf } from '../harness/hss/sims.ts'
import { type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { openAir } from '../harness/radio/air.ts'
import { OPEN, radioConfig } from '../harness/radio/box.ts'
import { done, exportedCards, type Service } from '../harness/service.ts'
import { type Bench, bench, median, most, quantile, started, times } from './bench.ts'
import { browserOf, LIMIT_MS, openFirstScreen } from './console.ts'

const TIMES = 20
const QUOTA = 1_000

/** A box with a lab core, a radio and cards, and what tells when something has happened. */
interface World {
  readonly service: Service
  readonly page: Page
  readonly lab: LabProcess
  readonly events: EventStream
  /** The public identifier of each card, and the card as a phone takes it. */
  readonly cards: readonly { readonly hash: string; readonly card: object }[]
}

/** A change from outside that can be made again and again: what is done first, what then, and when it is on screen. */
interface Story {
  readonly name: string
  readonly prepare?: (world: World, round: number) => Promise<unknown>
  readonly act: (world: World, round: number) => Promise<unknown>
  /** An expression that is true of the document once the change is shown. */
  readonly holds: (world: World, round: number) => string
  /** The event whose time counts, where the box itself finds out; otherwise the request counts, from before it is sent. */
  readonly event?: string
  /** How often, where that is not as often as all: what SIMs have used is judged twice a minute. */
  readonly times?: number
}

const figure = (name: string, value: number): string =>
  `[...document.querySelectorAll('.figures > div')].some(({ children: [is, now] }) => is.textContent === '${name}' && now.textContent === '${value}')`
const sentence = (text: string): string =>
  `document.querySelector('.sentence')?.textContent.startsWith('${text}')`
const hashOf = ({ cards }: World, round: number): string => cards[round]?.hash ?? ''
const phones = ({ lab }: World, path: string, body?: string) =>
  labPhones(lab.urls.control, 'POST', path, body)

const STORIES: readonly Story[] = [
  {
    name: 'a SIM is suspended',
    act: (world, round) => done(world.service, 'POST', `/v1/sims/${hashOf(world, round)}/suspend`, {}),
    holds: (_, round) => figure('Suspended', round + 1),
  },
  {
    name: 'the gate is disarmed',
    prepare: async ({ service, page }) => {
      const isOn = await changeOnScreen(page, sentence('The box is on the air.'))
      const body = { arm: true, profile_id: 'mast' }
      await eventually(async () => (await service.request('POST', '/v1/tx/arm', { body })).status === 200)
      await isOn()
    },
    act: ({ service }) => done(service, 'POST', '/v1/tx/disarm', {}),
    holds: () => sentence('The box is not on the air'),
  },
  {
    name: 'a session begins',
    event: 'session.begin',
    act: (world, round) => phones(world, '/phones', JSON.stringify([world.cards[TIMES + round]?.card])),
    holds: (_, round) => figure('Online', round + 1),
  },
  {
    name: 'a session ends',
    event: 'session.end',
    act: (world, round) => phones(world, `/phones/${hashOf(world, TIMES + round)}/detach`),
    holds: (_, round) => figure('Online', TIMES - round - 1),
  },
  {
    name: 'an alert is raised',
    event: 'alert.firing',
    times: 2,
    prepare: (world, round) => {
      const body = { quota_bytes: QUOTA, period: 'month', action: 'alert' }
      return done(world.service, 'POST', `/v1/sims/${hashOf(world, TIMES + round)}/quota`, body)
    },
    act: (world, round) => {
      const body = { up_bytes: 0.85 * QUOTA, down_bytes: 0, report_id: `bench-${round}` }
      return done(world.service, 'POST', `/v1/sims/${hashOf(world, TIMES + round)}/usage`, body)
    },
    holds: (world, round) =>
      `document.querySelector('[aria-labelledby=needs]').textContent.includes('${hashOf(world, TIMES + round)}')`,
  },
]

const BY_ITSELF = {
  SVC_COLLECTOR_ENABLED: 'true',
  SVC_COLLECTOR_INTERVAL: '1s',
  SVC_FAIRUSE_ENABLED: 'true',
  SVC_ALERTS_ENABLED: 'true',
}

/** How soon what happens is on screen. */
export const CONSOLE_CHANGES: Bench = bench({
  name: 'console-changes',
  about: 'how soon a change that others make is on the first screen, in a page that is not touched',
  setup: async (stage): Promise<World> => {
    const { path: folder } = stage.use(await tempDir('steeple-bench-'))
    const browser = await browserOf(stage)
    const air = stage.adopt(await openAir(folder), (own) => own.close())
    const lab = stage.adopt(await startLabCore(join(folder, 'lab')), async (own) => await own.stop())
    const [config, dataDir] = [join(folder, 'control.yaml'), join(folder, 'data')]
    writeFileSync(config, radioConfig(air.binary))
    mkdirSync(dataDir, { mode: 0o700 })
    const env = { ...lab.env, ...BY_ITSELF }
    const service = stage.use(await started({ dataDir, flags: ['--config', config], env }))
    const cards = await issue(service, lab)
    const events = await openEvents(`${service.url}/v1/events`, { token: service.adminToken })
    const page = await openFirstScreen(browser, service)
    await page.getByRole('region', { name: 'Recent events' }).getByRole('listitem').first().waitFor()
    return { service, page, lab, events, cards }
  },
  act: (world) =>
    times(STORIES.length, async (at) => {
      const { name, event, prepare, act, holds, times: often = TIMES } = STORIES[at] as Story
      const took = await times(often, async (round) => {
        await prepare?.(world, round)
        const shown = await changeOnScreen(world.page, holds(world, round))
        const known = world.events.events.length
        const startedAt = Date.now()
        await act(world, round)
        const shownAt = await shown()
        return shownAt - (event === undefined ? startedAt : await happenedAt(world, event, known))
      })
      const from = event === undefined ? 'the request' : 'the event'
      const what = `${name}: from ${from} to the screen, worst of ${took.length}`
      return most(what, quantile(took, 1), 'ms', 1_000, { beside: ['median', median(took)] })
    }),
})

/** Cards that the core knows. */
async function issue(service: Service, { env }: LabProcess): Promise<World['cards']> {
  await done(service, 'PUT', '/v1/policy', OPEN)
  const [{ batch_id: batch }] = (await done(service, 'POST', '/v1/sims', { count: 2 * TIMES })).sims
  await eventually(async () =>
    (await done(service, 'GET', `/v1/sims?limit=${2 * TIMES}`)).sims.every(
      (sim: { readonly provisioning: { readonly status: string } }) => sim.provisioning.status === 'synced',
    ),
  )
  return JSON.parse(await exportedCards(service.dataDir, batch, env)).map(
    (card: { readonly imsi: string }) => ({
      hash: imsiHashOf(card.imsi),
      card,
    }),
  )
}

/** When the box noted the first event of a type behind those that were known. */
async function happenedAt({ events }: World, type: string, known: number): Promise<number> {
  const found = (): string | undefined =>
    events.events.slice(known).find((event) => event.type === type)?.data.at
  await eventually(async () => found() !== undefined)
  return Date.parse(found() ?? '')
}

/**
 * Gives a wait for the time (ms since 1970) at which the document has changed so that `holds`, an expression, is true: told by a
 * MutationObserver that watches from now on, not asked for in turns.
 */
async function changeOnScreen(page: Page, holds: string): Promise<() => Promise<number>> {
  const name = `__seen${Math.random().toString(36).slice(2)}`
  const isTrueBefore = await page.evaluate<boolean>(`(() => {
    const holds = () => ${holds}
    globalThis['${name}'] = new Promise((seen) => {
      const watch = new MutationObserver(() => {
        if (!holds()) return
        watch.disconnect()
        seen(performance.timeOrigin + performance.now())
      })
      watch.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
    })
    return holds()
  })()`)
  if (isTrueBefore) throw new Error(`it was so before: ${holds}`)
  return async () => {
    const late = new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error(`not on screen: ${holds}`)), LIMIT_MS).unref(),
    )
    return await Promise.race([page.evaluate<number>(`globalThis['${name}']`), late])
  }
}
