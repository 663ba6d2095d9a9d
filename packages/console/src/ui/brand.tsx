import mark from '../icon.svg'
import { t } from '../text/index.ts'

/** The mark and the name; a link where `href` says where to. */
export function Brand({ href }: { readonly href?: string }) {
  const Tag = href === undefined ? 'span' : 'a'
  return (
    <Tag class="brand" {...(href === undefined ? {} : { href })}>
      <img src={mark} alt={t('app.name')} width="28" height="28" />
      <span aria-hidden="true">{t('app.name')}</span>
    </Tag>
  )
}
