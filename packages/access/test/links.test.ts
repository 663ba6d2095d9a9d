import { expandRoles, type Principal, systemPrincipal } from '@steeple/contracts'
import { assert, fakeClock, suite } from '@steeple/testkit'
import { LINKS, openLinks } from '../src/links/link-store.ts'
import { createLinks, LINK_PATTERN } from '../src/links/links.ts'
import { storedToken, tokenDb } from './helpers.ts'

const drawing = suite('access/links')
const MAKER: Principal = { ...systemPrincipal('first-start'), roles: expandRoles(['admin']) }

async function setting() {
  const [db, clock] = [tokenDb(), fakeClock()]
  const links = createLinks(clock, 'now')
  const drawn = async (maker: Principal): Promise<string> => {
    const link = links.draw(maker)
    await db.write(link.store)
    return link.token
  }
  return { db, clock, links, drawn }
}

drawing('draws a link that is good until it is used, at every instance', async () => {
  const { db, clock, links, drawn } = await setting()
  const token = await drawn(MAKER)
  assert.match(token, new RegExp(LINK_PATTERN))
  assert.is(await links.find(db, `${token.slice(0, -1)}-`), undefined)
  const found = await createLinks(clock, 'now').find(db, token)
  assert.equal(found?.maker, MAKER)
  await db.write((tx) => LINKS.remove(tx, { id: found?.id ?? '' }))
  assert.is(await links.find(db, token), undefined)
  assert.not.ok(JSON.stringify(await db.all('select * from access_link')).includes(token))
})

drawing('lets it end after five minutes, and no later than the credential of its maker', async () => {
  const { db, clock, links, drawn } = await setting()
  const late = await drawn(MAKER)
  const { row } = await storedToken(db, { id: 't', expires_at_ms: clock.nowMs() + 60_000 })
  const maker: Principal = { ...MAKER, kind: 'token', id: row.id, expiresAtMs: clock.nowMs() + 60_000 }
  const short = await drawn(maker)
  assert.is((await links.find(db, short))?.maker.id, 't')
  await clock.advance(60_000)
  assert.is(await links.find(db, short), undefined)
  assert.equal((await links.find(db, late))?.maker, MAKER)
  await clock.advance(240_000)
  assert.is(await links.find(db, late), undefined)
})

drawing('ends with the token of the environment when that is exchanged', async () => {
  const { db, clock, links, drawn } = await setting()
  const token = await drawn({ ...MAKER, kind: 'admin-env' })
  assert.ok(await links.find(db, token))
  assert.is(await createLinks(clock, 'exchanged').find(db, token), undefined)
})

drawing('keeps no more of a credential than there is use for: the oldest gives way', async () => {
  const { db, clock, links, drawn } = await setting()
  const tokens: string[] = []
  for (let i = 0; i < 17; i++) {
    tokens.push(await drawn(MAKER))
    await clock.advance(1)
  }
  assert.is(await links.find(db, tokens[0] ?? ''), undefined)
  assert.ok(await links.find(db, tokens[1] ?? ''))
  assert.is((await openLinks(db, clock.nowMs(), 100, '')).length, 16)
})

drawing.run()
