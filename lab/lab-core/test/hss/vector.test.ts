import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { authVector, RESYNC_AMF, resyncedSqn, sqnFrom, sqnOctets } from '../../src/hss/vector.ts'
import { makeUsim } from '../../src/phones/usim.ts'

const vector = suite('lab-core/hss/vector')
const hex = (text: string): Buffer => Buffer.from(text, 'hex')
const keys = { k: hex('465b5ce8b199b49faa5f0a2ee238a6bc'), opc: hex('cd63cb71954a9f4e48a5994e37a02baf') }
const rand = hex('23553cbe9637a89d218ae64dae47bf35')
const AMF = hex('8000')
const sqn48 = fc.bigInt({ min: 0n, max: (1n << 48n) - 1n })

vector('makes RES and AUTN of the published test set 1', () => {
  // TS 35.208 §4.3: SQN ff9bb4d0b607, AK aa689c648370, MAC-A 4a9ffac354dfafb3, RES a54211d5e3ba50bf.
  const { autn, xres } = authVector(keys, hex('b9b9'), 0xff9bb4d0b607n, rand)
  assert.is(Buffer.from(autn).toString('hex'), '55f328b43577b9b94a9ffac354dfafb3')
  assert.is(Buffer.from(xres).toString('hex'), 'a54211d5e3ba50bf')
})

vector('reads back every SQN that it writes', () => {
  fc.assert(fc.property(sqn48, (sqn) => assert.is(sqnFrom(sqnOctets(sqn)), sqn)))
  assert.equal([...RESYNC_AMF], [0, 0])
})

vector('a card takes each SQN once, and says which it holds when it does not', () => {
  const usim = makeUsim(keys)
  const ask = (sqn: bigint) => {
    const { autn, xres } = authVector(keys, AMF, sqn, rand)
    return { xres, answer: usim.authenticate(rand, autn) }
  }
  const first = ask(64n)
  assert.equal(first.answer, { kind: 'res', res: first.xres })
  for (const stale of [64n, 32n, 0n]) {
    const { answer } = ask(stale)
    assert.is(answer.kind, 'synch_failure')
    if (answer.kind === 'synch_failure') assert.is(resyncedSqn(keys, { rand, auts: answer.auts }), 64n)
  }
  assert.is(ask(65n).answer.kind, 'res', 'another IND has its own window')
  assert.is(ask(1n << 47n).answer.kind, 'synch_failure', 'too far ahead')
  assert.is(ask(96n).answer.kind, 'res')
})

vector(
  'a card refuses a vector of another key, of another OPc, changed on its way, or not for E-UTRAN',
  () => {
    const usim = makeUsim(keys)
    const from = (other: Partial<typeof keys>, amf = AMF) =>
      usim.authenticate(rand, authVector({ ...keys, ...other }, amf, 64n, rand).autn).kind
    assert.is(from({ k: Buffer.alloc(16) }), 'mac_failure')
    assert.is(from({ opc: Buffer.alloc(16) }), 'mac_failure')
    const { autn } = authVector(keys, AMF, 64n, rand)
    for (let octet = 0; octet < autn.length; octet += 1) {
      const changed = Buffer.from(autn)
      changed[octet] = (changed[octet] ?? 0) ^ 1
      assert.is(usim.authenticate(rand, changed).kind, 'mac_failure')
    }
    assert.is(from({}, hex('0000')), 'not_eps')
  },
)

vector('believes no resynchronisation of another key', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 14, maxLength: 14 }), (auts) => {
      assert.is(resyncedSqn(keys, { rand, auts }), undefined)
    }),
  )
})

vector('whatever a card has seen, one resynchronisation gets it on', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { maxLength: 32 }), (seqs) => {
      const usim = makeUsim(keys, seqs)
      const first = usim.authenticate(rand, authVector(keys, AMF, 0n, rand).autn)
      if (first.kind !== 'synch_failure') throw new Error(`a fresh card took SQN 0: ${first.kind}`)
      const held = resyncedSqn(keys, { rand, auts: first.auts }) ?? -1n
      const next = authVector(keys, AMF, held + 33n, rand)
      assert.is(usim.authenticate(rand, next.autn).kind, 'res')
    }),
  )
})

vector.run()
