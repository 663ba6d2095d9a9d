import { assert, suite } from '@steeple/testkit'
import {
  checkPassword,
  createPasswordGate,
  drawPassword,
  hashPassword,
  type ScryptCost,
} from '../src/people/password.ts'

const password = suite('access/password')
const LOW: ScryptCost = { n: 16, r: 1, p: 1 }
const HIGH: ScryptCost = { n: 32, r: 1, p: 3 }

password('knows its own password and no other', async () => {
  const stored = await hashPassword('correct horse', LOW)
  assert.match(stored, /^\$scrypt\$n=16,r=1,p=1\$/)
  assert.equal(await checkPassword('correct horse', stored, LOW), { isRight: true, isOutdated: false })
  assert.equal(await checkPassword('correct Horse', stored, LOW), { isRight: false, isOutdated: false })
  assert.not.equal(await hashPassword('correct horse', LOW), stored)
})

password('takes what looks the same for the same', async () => {
  const stored = await hashPassword('caf\u00e9 au lait', LOW)
  assert.is((await checkPassword('cafe\u0301 au lait', stored, LOW)).isRight, true)
})

password('checks a hash of another cost and says that it is outdated', async () => {
  const stored = await hashPassword('correct horse', LOW)
  assert.equal(await checkPassword('correct horse', stored, HIGH), { isRight: true, isOutdated: true })
  assert.equal(await checkPassword('wrong', stored, HIGH), { isRight: false, isOutdated: true })
})

password('is right for nobody without a hash, or with one that is none', async () => {
  for (const stored of [undefined, '', 'x', '$scrypt$n=16,r=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$']) {
    assert.is((await checkPassword('', stored, LOW)).isRight, false)
  }
})

password('draws passwords that are long and never the same', () => {
  const drawn = Array.from({ length: 200 }, drawPassword)
  assert.is(new Set(drawn).size, 200)
  for (const each of drawn) assert.match(each, /^[a-z2-9]{5}(-[a-z2-9]{5}){3}$/)
})

password('works on two at a time, known visitors first, and turns away who finds no place', async () => {
  const gate = createPasswordGate({ most: 2, mostWaiting: 3, mostOfNetwork: 2 })
  const open = Promise.withResolvers<void>()
  const begun: string[] = []
  const work = (network: string, name: string) =>
    gate.run({ network, isKnown: network === 'known' }, async () => {
      begun.push(name)
      await open.promise
      return name
    })
  const refused = (running: Promise<string>) =>
    running.catch((error: Error & { code?: string }) => error.code)
  const inside = [work('a', 'a1'), work('a', 'a2'), work('a', 'a3'), work('a', 'a4')]
  assert.is(await refused(work('a', 'a5')), 'rate_limited')
  inside.push(work('b', 'b1'))
  assert.is(await refused(work('c', 'c1')), 'rate_limited')
  inside.push(work('known', 'k1'))
  assert.equal(begun, ['a1', 'a2'])
  open.resolve()
  assert.equal(await Promise.all(inside), ['a1', 'a2', 'a3', 'a4', 'b1', 'k1'])
  assert.equal(begun, ['a1', 'a2', 'k1', 'a3', 'a4', 'b1'])
  assert.is(await work('c', 'c2'), 'c2')
})

password('gives the place of work that failed to the next', async () => {
  const gate = createPasswordGate({ most: 1, mostWaiting: 1, mostOfNetwork: 1 })
  const failing = gate.run({ network: 'a', isKnown: false }, () => Promise.reject(new Error('no')))
  const next = gate.run({ network: 'b', isKnown: false }, async () => 'in')
  assert.is(await failing.catch((error: Error) => error.message), 'no')
  assert.is(await next, 'in')
})

password.run()
