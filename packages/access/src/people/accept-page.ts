import { createHash } from 'node:crypto'
import { type Route, route } from '@steeple/contracts'
import { LEAST_PASSWORD_CHARS, MOST_PASSWORD_CHARS } from './user-record.ts'

/** Where an invitation is accepted: by a person's browser (GET) and by the page and programs (POST). */
export const INVITATION_PATH = '/v1/auth/invitation'

const STYLE = `
body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}
label{display:block;margin:.75rem 0}input{display:block;width:100%;font:inherit;padding:.4rem;box-sizing:border-box}
button{font:inherit;padding:.5rem 1rem}#said{font-weight:600}code{overflow-wrap:anywhere}svg{width:16rem;height:16rem;display:block}
`

/**
 * The token stands behind # alone: browsers send that to nobody, and it is taken out of the address at once. A link that is opened
 * where this page is open changes what is behind # and loads nothing: that has to be asked for.
 */
const SCRIPT = `
const at=(id)=>document.getElementById(id)
const token=location.hash.slice(1)
history.replaceState(null,'',location.pathname)
addEventListener('hashchange',()=>{if(location.hash.startsWith('#svci_'))location.reload()})
const say=(text)=>{at('said').textContent=text}
const draw=(rows)=>{
  const name='http://www.w3.org/2000/svg'
  const picture=document.createElementNS(name,'svg')
  const side=rows.length+8
  picture.setAttribute('viewBox','0 0 '+side+' '+side)
  picture.setAttribute('role','img')
  picture.setAttribute('aria-label','QR code for the authenticator app')
  picture.setAttribute('shape-rendering','crispEdges')
  const path=document.createElementNS(name,'path')
  path.setAttribute('d',rows.flatMap((row,y)=>[...row].map((cell,x)=>cell==='1'?'M'+(x+4)+' '+(y+4)+'h1v1h-1z':'')).join(''))
  picture.append(path)
  return picture
}
const show=(user)=>{
  at('form').hidden=true
  at('done').hidden=false
  at('name').textContent=user.name
  at('roles').textContent=user.roles.join(', ')
  at('qr').append(draw(user.totp_qr))
  at('uri').textContent=user.totp_uri
  for(const code of user.recovery_codes){
    const item=document.createElement('li')
    item.append(Object.assign(document.createElement('code'),{textContent:code}))
    at('codes').append(item)
  }
}
if(!token.startsWith('svci_')){
  at('form').hidden=true
  say('This address holds no invitation. Open the whole link once more, with all that is behind #.')
}
at('form').addEventListener('submit',async(event)=>{
  event.preventDefault()
  const password=at('password').value
  if(password!==at('again').value)return say('The two passwords are not the same.')
  at('accept').disabled=true
  say('')
  try{
    const answer=await fetch(location.pathname,{
      method:'POST',
      headers:{'content-type':'application/json'},
      body:JSON.stringify({token,password,with_qr:true}),
    })
    const body=await answer.json()
    if(answer.ok)show(body)
    else say(body.error.message)
  }catch{
    say('The box did not answer. Try again.')
  }
  at('accept').disabled=false
})
`

const BODY = `<main>
<h1>Accept an invitation</h1>
<noscript><p>This page needs scripts. On a terminal: <code>svc user accept</code>.</p></noscript>
<form id="form">
<label>A password of your own, at least ${LEAST_PASSWORD_CHARS} characters
<input id="password" type="password" autocomplete="new-password" required minlength="${LEAST_PASSWORD_CHARS}" maxlength="${MOST_PASSWORD_CHARS}"></label>
<label>Once more <input id="again" type="password" autocomplete="new-password" required></label>
<button id="accept">Accept</button>
</form>
<p id="said" role="status"></p>
<section id="done" hidden>
<p>You are <strong id="name"></strong> (<span id="roles"></span>). This is shown once and stored nowhere as it is. Keep it now.</p>
<h2>For the authenticator app</h2>
<div id="qr"></div>
<p><code id="uri"></code></p>
<h2>Recovery codes, each good once in place of a code of the app</h2>
<ul id="codes"></ul>
</section>
</main>`

/** `GET /v1/auth/invitation`: the page behind an invitation's link. It asks nobody but this box. */
export function acceptPageRoute(): Route {
  const { html, policy } = page()
  return route({
    method: 'GET',
    path: INVITATION_PATH,
    role: 'public',
    summary: 'The page on which an invitation is accepted',
    description:
      'The link is this address, # and the token of the invitation: what is behind # is sent to nobody.',
    produces: ['text/html'],
    handle: async () => ({
      body: html,
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy },
    }),
  })
}

/** One document; its policy names its script and its style by their hashes, and lets nothing else run. CSP Level 3 §6.7.3. */
function page(): { readonly html: Buffer; readonly policy: string } {
  const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(SCRIPT)}`,
    `style-src ${hashOf(STYLE)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Accept an invitation</title>`
  const icon = '<link rel="icon" href="data:,">'
  const html = `<!doctype html><html lang="en"><head>${head}${icon}<style>${STYLE}</style></head><body>${BODY}<script>${SCRIPT}</script></body></html>`
  return { html: Buffer.from(html), policy: `${policy}; img-src data:` }
}

/** A QR code as rows of modules, `1` for black, without the white around it. */
export async function qrRows(text: string): Promise<readonly string[]> {
  const { create } = await import('qrcode')
  const { modules } = create(text, { errorCorrectionLevel: 'M' })
  const cells = [...modules.data].map((cell) => (cell === 1 ? '1' : '0')).join('')
  return Array.from({ length: modules.size }, (_, y) => cells.slice(y * modules.size, (y + 1) * modules.size))
}
