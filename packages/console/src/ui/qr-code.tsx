import { useMemo } from 'preact/hooks'
import { create } from 'qrcode'
import { t } from '../text/index.ts'

/** White around it, in modules, that readers need. ISO/IEC 18004 §6.3.8. */
const QUIET = 4

/** A QR code as a picture that prints sharply. `what` says for readers what is in it, not the text itself. */
export function QrCode({ text, what }: { readonly text: string; readonly what: string }) {
  const { side, path } = useMemo(() => drawn(text), [text])
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

function drawn(text: string): { readonly side: number; readonly path: string } {
  const { modules } = create(text, { errorCorrectionLevel: 'M' })
  const cells = Array.from(modules.data, (cell, at) => {
    const [x, y] = [(at % modules.size) + QUIET, Math.floor(at / modules.size) + QUIET]
    return cell === 1 ? `M${x} ${y}h1v1h-1z` : ''
  })
  return { side: modules.size + 2 * QUIET, path: cells.join('') }
}
