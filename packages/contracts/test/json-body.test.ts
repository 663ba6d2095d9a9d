import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { changeTag, jsonBody, jsonTextOf } from '../src/change-tag.ts'

const json = suite('contracts/json-body')

json('is the value of its text for whoever asks', () => {
  const text = '{"b":[1,"é"],"a":null}'
  const body = jsonBody(text)
  assert.is(jsonTextOf(body), text)
  assert.is(JSON.stringify({ body }), `{"body":${text}}`)
  assert.is(changeTag(1, body), changeTag(1, JSON.parse(text)))
  assert.is(jsonTextOf({ a: 1 }), '{"a":1}')
  assert.is(jsonTextOf(undefined), undefined)
})

json.run()
