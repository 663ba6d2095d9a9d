import { readdirSync, readFileSync } from 'node:fs'
import { assert, suite } from '@steeple/testkit'
import { restartedOf } from '../src/pages/core/restarted.ts'

/** Files that are found by their names: what no type can see. */
const areas = suite('console/areas')
const TEXT = new URL('../src/text/', import.meta.url)

const areasIn = (language: string): readonly string[] =>
  readdirSync(TEXT)
    .filter((name) => name.endsWith(`.${language}.ts`))
    .map((name) => name.slice(0, name.indexOf('.')))
    .sort()

areas('each area says all in English and in German', () => {
  assert.ok(areasIn('en').includes('shell'))
  assert.equal(areasIn('de'), areasIn('en'))
})

areas('no two areas have a text of the same name', () => {
  const names = areasIn('en').flatMap((area) => {
    const lines = readFileSync(new URL(`${area}.en.ts`, TEXT), 'utf8').matchAll(/^ {2}'([\w.-]+)':/gm)
    return [...lines].map(([, name]) => name)
  })
  assert.equal(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  )
})

areas('says of each entry of the trail which daemons were restarted, and why', () => {
  const of = (detail: object | null) => {
    const { daemons, why, files } = restartedOf({
      seq: 1,
      at: '2026-11-23T16:00:00.000Z',
      detail: detail as never,
    })
    return [daemons, why, files]
  }
  const why = 'the UPF has none of its sessions'
  assert.equal(of({ core: 'core_a', daemons: ['smf'], reason: why }), [['smf'], why, []])
  assert.equal(of({ core: 'core_a', changed: ['mme.yaml'], restarted: ['mme', 'sgwc'] }), [
    ['mme', 'sgwc'],
    undefined,
    ['mme.yaml'],
  ])
  assert.equal(of(null), [[], undefined, []])
})

areas.run()
