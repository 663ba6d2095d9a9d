/** Whether an armed radio sends; `why`: what it says of itself. */
export interface Air {
  readonly is: 'on' | 'starting' | 'off'
  readonly why: string
}

/** How far an armed radio is, by the gate and by what its parts say. One that is late sends nothing. */
export function airOf(
  { transmitter }: { readonly transmitter: string },
  components: readonly { readonly kind: string; readonly status: string; readonly detail: string }[],
  isLate = false,
): Air {
  const radios = components.filter(({ kind }) => kind === 'ran')
  const down = radios.find(({ status }) => status === 'down')
  if (down !== undefined) return { is: 'off', why: down.detail }
  const late = radios.find(({ status }) => status !== 'ok')
  const why = (late ?? radios[0])?.detail ?? ''
  if (late === undefined && transmitter === 'on') return { is: 'on', why }
  return { is: isLate ? 'off' : 'starting', why }
}
