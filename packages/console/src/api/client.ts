import { type Client, createClient } from '@steeple/client'
import { currentToken } from './session.ts'

/** The service that this page is of, as typed calls with the session of this browser. */
export const api: Client = createClient({ url: '', token: currentToken })
