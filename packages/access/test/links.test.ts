import { expandRoles, systemPrincipal } from '@steeple/contracts'
import { assert, fakeClock, suite } from '@steeple/testkit'
import { createLinks, LINK_PATTERN } from '../src/links/links.ts'

const drawing = suite('access/links')
const MAKER = { ...systemPrincipal('first-start'), roles: expandRoles(['admin']) }

drawing('draws a link that is good once', () => {
  const links = createLinks(fakeClock())
  const { token } = links.draw(MAKER)
  assert.match(token, new RegExp(LINK_PATTERN))
  assert.is(links.take(`${token.slice(0, -1)}-`), undefined)
  assert.equal(links.take(token), MAKER)
  assert.is(links.take(token), undefined)
})

drawing('lets it end after five minutes, and no later than the credential of its maker', async () => {
  const clock = fakeClock()
  const links = createLinks(clock)
  const [late, short] = [
    links.draw(MAKER),
    links.draw({ ...MAKER, kind: 'token', expiresAtMs: clock.nowMs() + 60_000 }),
  ]
  await clock.advance(60_000)
  assert.is(links.take(short.token), undefined)
  await clock.advance(240_000)
  assert.is(links.take(late.token), undefined)
})

drawing('keeps no more than there is use for: the oldest gives way', () => {
  const links = createLinks(fakeClock())
  const drawn = Array.from({ length: 65 }, () => links.draw(MAKER))
  assert.is(links.take(drawn[0]?.token ?? ''), undefined)
  assert.equal(links.take(drawn[1]?.token ?? ''), MAKER)
})

drawing.run()
