import { api, type Problem, useEffect, useState } from '@steeple/console/kit'

/** What a phone scans. Whoever has it can take the profile. */
export interface Activation {
  readonly token: string
  readonly activation_code: string
  readonly qr_text: string
  /** Of a provider's code that asks for one. */
  readonly confirmation_code?: string | null
}

/** Reads what a phone scans, or why there is nothing to scan any more. */
export async function activationOf(token: string): Promise<Activation | Problem> {
  const answer = await api.get('/v1/esim/codes/{token}/qr', {
    path: { token },
    headers: { accept: 'application/json' },
  })
  // By the header it is the JSON of these.
  return answer.ok ? (answer.data as Activation) : answer.error
}

/** What a phone scans for one code, read once. */
export function useActivation(token: string): {
  readonly data: Activation | undefined
  readonly error: Problem | undefined
} {
  const [known, setKnown] = useState<Activation | Problem | undefined>(undefined)
  useEffect(() => {
    let isOver = false
    void activationOf(token).then((answer) => {
      if (!isOver) setKnown(answer)
    })
    return () => {
      isOver = true
    }
  }, [token])
  if (known === undefined) return { data: undefined, error: undefined }
  return 'qr_text' in known ? { data: known, error: undefined } : { data: undefined, error: known }
}
