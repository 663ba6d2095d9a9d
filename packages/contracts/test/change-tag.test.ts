import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { changeTag, refuseStale } from '../src/change-tag.ts'

const tags = suite('contracts/change-tag')

const isRefused = (ifMatch: string | undefined, part: unknown): boolean => {
  try {
    refuseStale(ifMatch, part, 'the label')
    return false
  } catch (error) {
    assert.equal((error as { readonly code: string }).code, 'stale_change')
    return true
  }
}

tags('changes with all that is said, and is stale by what can be changed alone', () => {
  const seen = changeTag(['anna'], { label: 'anna', octets: 1 })
  assert.match(seen, /^"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{22}"$/)
  assert.is.not(seen, changeTag(['anna'], { label: 'anna', octets: 2 }))
  assert.not.ok(isRefused(seen, ['anna']))
  assert.ok(isRefused(seen, ['ben']))
})

tags('takes weak tags, lists and the star, and asks nobody for the header', () => {
  const seen = changeTag(['anna'], {})
  for (const header of [`W/${seen}`, `"other", ${seen}`, '*', seen.replaceAll('"', '')])
    assert.not.ok(isRefused(header, ['anna']), header)
  assert.not.ok(isRefused(undefined, ['anna']))
  for (const header of ['', '"', '"."', 'W/', '"other"']) assert.ok(isRefused(header, ['anna']), header)
})

tags.run()
