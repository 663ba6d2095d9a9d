import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { t } from '../text/index.ts'
import { Notice } from './notice.tsx'

/** White around it, in modules, that readers need. ISO/IEC 18004 §6.3.8. */
const QUIET = 4

/** An address of this computer alone, in a link or in an activation code. */
const LOOPBACK = /[/$](?:localhost|127\.[\d.]+|\[::1\])(?=[:/$]|$)/

/** What to do about a text that leads a phone to itself; nothing for any other text. */
export function OnlyHere({
  text,
  children,
}: {
  readonly text: string
  readonly children: ComponentChildren
}) {
  return LOOPBACK.test(text) ? <Notice tone="warn">{children}</Notice> : null
}

interface Drawing {
  /** Modules. */
  readonly side: number
  readonly path: string
}

/** A QR code as a picture that prints sharply. `what` says for readers what is in it, not the text itself. */
export function QrCode({ text, what }: { readonly text: string; readonly what: string }) {
  const [drawing, setDrawing] = useState<Drawing>()
  useEffect(() => {
    let isShown = true
    void drawn(text).then((found) => {
      if (isShown) setDrawing(found)
    })
    return () => {
      isShown = false
    }
  }, [text])
  if (drawing === undefined) return <svg class="qr" aria-hidden="true" />
  const { side, path } = drawing
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${side} ${side}`}
      role="img"
      aria-label={t('ui.qr', { what })}
      shape-rendering="crispEdges"
    >
      <rect width={side} height={side} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}

async function drawn(text: string): Promise<Drawing> {
  // What draws it comes with the first code: the kit of plugins has it, and most pages show none.
  const { default: qr } = await import('qrcode')
  const { modules } = qr.create(text, { errorCorrectionLevel: 'M' })
  const cells = Array.from(modules.data, (cell, at) => {
    const [x, y] = [(at % modules.size) + QUIET, Math.floor(at / modules.size) + QUIET]
    return cell === 1 ? `M${x} ${y}h1v1h-1z` : ''
  })
  return { side: modules.size + 2 * QUIET, path: cells.join('') }
}
