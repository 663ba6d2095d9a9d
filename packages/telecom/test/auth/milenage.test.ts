import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { milenageF1, milenageF2345, opcFrom } from '../../src/auth/milenage.ts'

const milenage = suite('telecom/milenage')

/** TS 35.207 §4 and §5, TS 35.208 §4: K, RAND, SQN, AMF, OP, OPc, f1, f1*, f2, f5, f3, f4, f5*. */
const TEST_SETS = [
  '465b5ce8b199b49faa5f0a2ee238a6bc 23553cbe9637a89d218ae64dae47bf35 ff9bb4d0b607 b9b9 cdc202d5123e20f62b6d676ac72cb318 cd63cb71954a9f4e48a5994e37a02baf 4a9ffac354dfafb3 01cfaf9ec4e871e9 a54211d5e3ba50bf aa689c648370 b40ba9a3c58b2a05bbf0d987b21bf8cb f769bcd751044604127672711c6d3441 451e8beca43b',
  '0396eb317b6d1c36f19c1c84cd6ffd16 c00d603103dcee52c4478119494202e8 fd8eef40df7d af17 ff53bade17df5d4e793073ce9d7579fa 53c15671c60a4b731c55b4a441c0bde2 5df5b31807e258b0 a8c016e51ef4a343 d3a628ed988620f0 c47783995f72 58c433ff7a7082acd424220f2b67c556 21a8c1f929702adb3e738488b9f5c5da 30f1197061c1',
  'fec86ba6eb707ed08905757b1bb44b8f 9f7c8d021accf4db213ccff0c7f71a6a 9d0277595ffc 725c dbc59adcb6f9a0ef735477b7fadf8374 1006020f0a478bf6b699f15c062e42b3 9cabc3e99baf7281 95814ba2b3044324 8011c48c0c214ed2 33484dc2136b 5dbdbb2954e8f3cde665b046179a5098 59a92d3b476a0443487055cf88b2307b deacdd848cc6',
  '9e5944aea94b81165c82fbf9f32db751 ce83dbc54ac0274a157c17f80d017bd6 0b604a81eca8 9e09 223014c5806694c007ca1eeef57f004f a64a507ae1a2a98bb88eb4210135dc87 74a58220cba84c49 ac2cc74a96871837 f365cd683cd92e96 f0b9c08ad02e e203edb3971574f5a94b0d61b816345d 0c4524adeac041c4dd830d20854fc46b 6085a86c6f63',
  '4ab1deb05ca6ceb051fc98e77d026a84 74b0cd6031a1c8339b2b6ce2b8c4a186 e880a1b580b6 9f07 2d16c5cd1fdf6b22383584e3bef2a8d8 dcf07cbd51855290b92a07a9891e523e 49e785dd12626ef2 9e85790336bb3fa2 5860fc1bce351e7e 31e11a609118 7657766b373d1c2138f307e3de9242f9 1c42e960d89b8fa99f2744e0708ccb53 fe2555e54aa9',
  '6c38a116ac280c454f59332ee35c8c4f ee6466bc96202c5a557abbeff8babf63 414b98222181 4464 1ba00a1a7c6700ac8c3ff3e96ad08725 3803ef5363b947c6aaa225e58fae3934 078adfb488241a57 80246b8d0186bcf1 16c8233f05a0ac28 45b0f69ab06c 3f8c7587fe8e4b233af676aede30ba3b a7466cc1e6b2a1337d49d3b66e95d7b4 1f53cd2b1113',
]

const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex')

milenage('computes the published test sets', () => {
  for (const line of TEST_SETS) {
    const [k, rand, sqn, amf, op, opcWanted, ...wanted] = line
      .split(' ')
      .map((word) => Buffer.from(word, 'hex'))
    assert.ok(k && rand && sqn && amf && op && opcWanted)
    const opc = opcFrom(k, op)
    assert.is(hex(opc), hex(opcWanted))
    const { macA, macS } = milenageF1({ k, opc }, rand, sqn, amf)
    const { res, ck, ik, ak, akStar } = milenageF2345({ k, opc }, rand)
    assert.equal([macA, macS, res, ak, ck, ik, akStar].map(hex), wanted.map(hex))
  }
})

milenage('leaves what it is given alone', () => {
  const block = fc.uint8Array({ minLength: 16, maxLength: 16 })
  fc.assert(
    fc.property(block, block, block, (k, opc, rand) => {
      const before = [k, opc, rand].map(hex)
      milenageF1({ k, opc }, rand, new Uint8Array(6), new Uint8Array(2))
      milenageF2345({ k, opc }, rand)
      opcFrom(k, opc)
      assert.equal([k, opc, rand].map(hex), before)
    }),
  )
})

milenage('refuses a key, challenge or counter of another length', () => {
  const good = new Uint8Array(16)
  const keys = { k: good, opc: good }
  const bad = new Uint8Array(15)
  for (const work of [
    () => opcFrom(bad, good),
    () => opcFrom(good, bad),
    () => milenageF2345(keys, bad),
    () => milenageF2345({ k: good, opc: bad }, good),
    () => milenageF1(keys, good, bad, new Uint8Array(2)),
    () => milenageF1(keys, good, new Uint8Array(6), bad),
  ])
    assert.throws(work, (error: unknown) => error instanceof RangeError)
})

milenage.run()
