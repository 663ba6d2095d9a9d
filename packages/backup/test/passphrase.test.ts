import { assert, suite } from '@steeple/testkit'
import { drawPassphrase, passphraseHeader, strengthOf } from '../pages/passphrase.ts'

const passphrase = suite('backup/passphrase')

passphrase('is weaker for what repeats, follows the alphabet or is short', () => {
  assert.is(strengthOf('tUz8!kq').word, 'short')
  for (const guessed of ['aaaaaaaaaaaaaaaa', 'abcdefghijklmnop', '1234567890123456'])
    assert.is(strengthOf(guessed).word, 'weak', guessed)
  assert.is(strengthOf('correct horse battery staple').word, 'strong')
  assert.is(strengthOf('').share, 0)
})

passphrase('that is drawn is strong, and another one each time', () => {
  const drawn = Array.from({ length: 20 }, drawPassphrase)
  assert.is(new Set(drawn).size, drawn.length)
  for (const one of drawn) {
    assert.match(one, /^([a-km-z2-9]{5}-){4}[a-km-z2-9]{5}$/)
    assert.is(strengthOf(one).word, 'strong')
  }
})

passphrase('goes into its header as the octets of its UTF-8', () => {
  const header = passphraseHeader('schön und lang genug')['x-backup-passphrase'] ?? ''
  assert.is(Buffer.from(header, 'latin1').toString('utf8'), 'schön und lang genug')
  assert.equal(passphraseHeader(''), {})
})

passphrase.run()
