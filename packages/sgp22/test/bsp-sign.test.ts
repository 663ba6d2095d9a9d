import { generateKeyPairSync } from 'node:crypto'
import { assert, suite } from '@steeple/testkit'
import { signP1363, verifyP1363 } from '../src/bsp-sign.ts'

const signatures = suite('sgp22/bsp-sign')
const text = (words: string): Uint8Array => new TextEncoder().encode(words)

for (const namedCurve of ['prime256v1', 'brainpoolP256r1']) {
  signatures(`signs and verifies parts in their order: ${namedCurve}`, () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    const signature = signP1363(privateKey, text('one'), text('two'))
    assert.equal([...signature.subarray(0, 3), signature.length], [0x5f, 0x37, 0x40, 67])
    assert.ok(verifyP1363(publicKey, signature, text('one'), text('two')))
    assert.ok(verifyP1363(publicKey, signature, text('onetwo')))
    assert.not.ok(verifyP1363(publicKey, signature, text('two'), text('one')))
  })

  signatures(`refuses every signature with a bit changed, and what is none: ${namedCurve}`, () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    const signature = signP1363(privateKey, text('one'))
    for (let bit = 0; bit < 8 * signature.length; bit++) {
      const bent = Uint8Array.from(signature)
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.not.ok(verifyP1363(publicKey, bent, text('one')))
    }
    for (const wrong of [new Uint8Array(0), signature.subarray(3), signature.subarray(0, 66), text('5F37')])
      assert.not.ok(verifyP1363(publicKey, wrong, text('one')))
  })
}

signatures.run()
