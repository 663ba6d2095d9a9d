import { type Client, createClient } from '@steeple/client'
import { lookAgain } from './changes.ts'
import { currentToken, withoutToken } from './session.ts'

const UNAUTHENTICATED = 401
const UNAVAILABLE = 503

/** The service that this page is of, as typed calls with the session of this browser. */
export const api: Client = createClient({
  url: '',
  token: currentToken,
  // Somebody waits: a refusal that lasts is shown at once.
  retries: 1,
  fetch: async (input, init) => {
    const answer = await fetch(input, init)
    if (answer.status === UNAUTHENTICATED) withoutToken()
    if (answer.status === UNAVAILABLE && init.method !== 'GET') lookAgain()
    return answer
  },
})
