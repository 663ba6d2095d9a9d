import { type Client, createClient } from '@steeple/client'
import { currentToken, withoutToken } from './session.ts'

const UNAUTHENTICATED = 401

/** The service that this page is of, as typed calls with the session of this browser. */
export const api: Client = createClient({
  url: '',
  token: currentToken,
  fetch: async (input, init) => {
    const answer = await fetch(input, init)
    if (answer.status === UNAUTHENTICATED) withoutToken()
    return answer
  },
})
