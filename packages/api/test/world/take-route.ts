import { objectSchema, ok, type Route, route } from '@steeple/contracts'

/** A route that takes a JSON body with a number in it, and answers what it got. */
export const TAKE: Route = route({
  method: 'POST',
  path: '/v1/take',
  role: 'operator',
  summary: 'Takes a body',
  audit: 'take.do',
  schema: { body: objectSchema({ a: { type: 'integer' } }, ['a']) },
  handle: async (request) => ok({ got: request.body }),
})
