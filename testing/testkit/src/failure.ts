/** The error that work ends with. Throws when it ends well. */
export async function failureOf(work: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  try {
    await work
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('it must end with an error')
}

/** A signal for what takes long on a busy machine alone. */
export function patient(): AbortSignal {
  return AbortSignal.timeout(60_000)
}
