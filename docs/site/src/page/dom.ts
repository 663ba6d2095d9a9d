type Attribute = string | boolean | undefined | ((event: Event) => void)
export type Child = Node | string | undefined | readonly Child[]

/** An element. Attributes that are functions become listeners; `true` is an attribute without a value. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, Attribute>>,
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (value === true) element.setAttribute(name, '')
    else if (typeof value === 'string') element.setAttribute(name, value)
  }
  append(element, children)
  return element
}

function append(parent: HTMLElement, children: readonly Child[]): void {
  for (const child of children) {
    if (child === undefined) continue
    if (typeof child === 'string' || child instanceof Node) parent.append(child)
    else append(parent, child)
  }
}

/** Text in which what stands between backticks is code. */
export function prose(text: string): readonly Child[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? h('code', {}, part) : part))
}

/** A text to copy, in a box of its own. */
export function sample(text: string, label: string): HTMLElement {
  const copy = h('button', { type: 'button', class: 'plain copy', 'aria-label': `Copy: ${label}` }, 'Copy')
  copy.addEventListener('click', async () => {
    const isCopied = await copyText(text)
    copy.textContent = isCopied ? 'Copied' : 'Select it by hand'
    say(isCopied ? 'copied' : 'the browser does not let this page copy')
    setTimeout(() => {
      copy.textContent = 'Copy'
    }, 1_500)
  })
  return h(
    'div',
    { class: 'sample' },
    h('pre', { tabindex: '0', 'aria-label': label }, h('code', {}, text)),
    copy,
  )
}

/** The clipboard is for secure pages only; a box on the bench often has none. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** Says something to who cannot see it. */
export function say(text: string): void {
  const said = document.querySelector('#said')
  if (said !== null) said.textContent = text
}

/** The element of the page with that id. */
export function byId<E extends HTMLElement>(id: string): E {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no #${id}`)
  return found as E
}
