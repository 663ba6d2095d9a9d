/** How something stands: well, to be looked at, badly, working (`on`: the accent), or nothing of it. */
export type Tone = 'ok' | 'warn' | 'bad' | 'on' | 'none'

/** A light with words: never by its colour alone. */
export function Lamp({ tone, label }: { readonly tone: Tone; readonly label: string }) {
  return (
    <span class={`lamp ${tone}`}>
      <span class="light" aria-hidden="true" />
      {label}
    </span>
  )
}
