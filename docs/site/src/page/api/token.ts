import { byId, h, say } from '../dom.ts'

/** The token that requests from this page carry. It is in this page's memory alone and gone with the page. */
export interface Credential {
  get(): string
  ask(): void
  onChange(listener: () => void): void
}

/** The credential of the page, with its button and dialog. */
export function createCredential(): Credential {
  let token = ''
  const listeners: (() => void)[] = []
  const button = byId<HTMLButtonElement>('token')
  const field = h('input', {
    id: 'token-field',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'svc_…',
  })
  const dialog = h('dialog', { 'aria-labelledby': 'token-title' })
  const set = (value: string): void => {
    token = value.trim()
    field.value = ''
    button.textContent = token === '' ? 'Set a token' : 'Token set'
    button.classList.toggle('is-set', token !== '')
    say(token === '' ? 'the token is forgotten' : 'the token is set')
    dialog.close()
    for (const listener of listeners) listener()
  }
  const form = h(
    'form',
    {},
    h('h2', { id: 'token-title' }, 'Token'),
    h(
      'p',
      {},
      'It goes with what you try here, to this service alone. The page keeps it in memory until you close or reload it: no cookie, no storage.',
    ),
    h('label', { for: 'token-field', class: 'hidden' }, 'Token'),
    field,
    h(
      'div',
      { class: 'row' },
      h('button', { type: 'button', class: 'plain', click: () => set('') }, 'Forget'),
      h('button', { type: 'button', class: 'plain', click: () => dialog.close() }, 'Cancel'),
      h('button', { type: 'submit', class: 'main' }, 'Use it'),
    ),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    set(field.value)
  })
  dialog.append(form)
  document.body.append(dialog)
  const ask = (): void => {
    field.value = ''
    dialog.showModal()
  }
  button.addEventListener('click', ask)
  return {
    get: () => token,
    ask,
    onChange: (listener) => {
      listeners.push(listener)
    },
  }
}
