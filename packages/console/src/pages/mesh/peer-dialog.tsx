import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { durationText } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { type Peer, peerTone } from './peer-facts.ts'

interface PeerProps {
  readonly peer: Peer
  readonly onClose: () => void
  /** Something of it was changed. */
  readonly onChange: () => void
}

/** One link: how it is, which of its routes are approved, and how it is taken away. */
export function PeerDialog({ peer, onClose, onChange }: PeerProps) {
  return (
    <Dialog isOpen title={peer.name} onClose={onClose}>
      <p>
        <Lamp tone={peerTone(peer.state)} label={word('mesh.state', peer.state)} />{' '}
        <Said>{peer.reason ?? ''}</Said>
      </p>
      <dl class="facts">
        <dt>{t('mesh.link.source')}</dt>
        <dd>{word('mesh.source', peer.source)}</dd>
        <dt>{t('mesh.link.endpoint')}</dt>
        <dd>{peer.endpoint ?? peer.last_endpoint ?? t('mesh.link.comes')}</dd>
        <dt>{t('mesh.link.address')}</dt>
        <dd>{peer.address ?? '–'}</dd>
        <dt>{t('mesh.link.handshake')}</dt>
        <dd>
          {peer.handshake_age_s === null
            ? t('mesh.never')
            : t('mesh.ago', { time: durationText(peer.handshake_age_s * 1_000) })}
        </dd>
        <dt>{t('mesh.key')}</dt>
        <dd>
          <code>{peer.public_key ?? '–'}</code>
          {typeof peer.public_key === 'string' ? <Copy text={peer.public_key} /> : null}
        </dd>
        <dt>{t('mesh.link.serving')}</dt>
        <dd>{(peer.serving ?? []).join(', ') || '–'}</dd>
      </dl>
      <Routes peer={peer} onChange={onChange} />
      {may('operator') && peer.source === 'static' ? <NextKeyForm peer={peer} onChange={onChange} /> : null}
      {may('operator') ? <Remove peer={peer} onClose={onClose} onChange={onChange} /> : null}
      <div class="actions">
        <Button onClick={onClose}>{t('ui.close')}</Button>
      </div>
    </Dialog>
  )
}

function Routes({ peer, onChange }: Omit<PeerProps, 'onClose'>) {
  const { advertised = [], approved = [] } = peer
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(approved))
  const policy = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const approve = useAction((routes: readonly string[]) =>
    api.post('/v1/peers/{id}/approve', { path: { id: peer.id }, body: { routes } }),
  )
  const all = [...new Set([...advertised, ...approved])]
  const isForbidden = policy.data?.mesh.allow_route_advertise === false
  const isChanged = chosen.size !== approved.length || approved.some((route) => !chosen.has(route))
  const save = async (): Promise<void> => {
    const result = await approve.run([...chosen])
    if (result?.ok !== true) return
    toast({ text: t('mesh.routes.approved', { name: peer.name }) })
    onChange()
  }
  const tick = (route: string, isTicked: boolean): void => {
    const next = new Set(chosen)
    if (isTicked) next.add(route)
    else next.delete(route)
    setChosen(next)
  }
  return (
    <section class="stack" aria-labelledby="mesh-routes">
      <h3 id="mesh-routes">{t('mesh.routes')}</h3>
      {all.length === 0 ? <p>{t('mesh.routes.none')}</p> : null}
      {isForbidden && all.length > 0 ? (
        <Notice tone="warn">
          {t('mesh.routes.forbidden')} <a href="/rules">{t('mesh.routes.rules')}</a>
        </Notice>
      ) : null}
      {all.map((route) => (
        <Checkbox
          key={route}
          label={route}
          help={t(advertised.includes(route) ? 'mesh.route.advertised' : 'mesh.route.gone')}
          isChecked={chosen.has(route)}
          isDisabled={!may('operator')}
          onChange={(isTicked) => tick(route, isTicked)}
        />
      ))}
      {approve.error === undefined ? null : <ErrorNotice error={approve.error} />}
      {may('operator') && all.length > 0 ? (
        <div>
          <Button kind="primary" isDisabled={!isChanged} isBusy={approve.isBusy} onClick={() => void save()}>
            {t('mesh.routes.approve')}
          </Button>
        </div>
      ) : null}
    </section>
  )
}

/** Takes a link away, after a second press that says what it costs. */
function Remove({ peer, onClose, onChange }: PeerProps) {
  const [isAsked, setAsked] = useState(false)
  const remove = useAction(() => api.delete('/v1/peers/{id}', { path: { id: peer.id } }))
  const go = async (): Promise<void> => {
    const result = await remove.run()
    if (result?.ok !== true) return
    toast({ text: t('mesh.removed', { name: peer.name }) })
    onChange()
    onClose()
  }
  if (!isAsked)
    return (
      <div class="apart">
        <Button onClick={() => setAsked(true)}>{t('mesh.remove')}</Button>
      </div>
    )
  return (
    <Notice tone="warn">
      <p>{t(peer.source === 'mesh' ? 'mesh.remove.member' : 'mesh.remove.what')}</p>
      {remove.error === undefined ? null : <ErrorNotice error={remove.error} />}
      <div class="actions">
        <Button onClick={() => setAsked(false)}>{t('ui.cancel')}</Button>
        <Button kind="danger" isBusy={remove.isBusy} onClick={() => void go()}>
          {t('mesh.remove.confirm', { name: peer.name })}
        </Button>
      </div>
    </Notice>
  )
}

/** Takes the next key of a box that was linked by hand: nobody else tells it. */
function NextKeyForm({ peer, onChange }: { readonly peer: Peer; readonly onChange: () => void }) {
  const [key, setKey] = useState('')
  const tell = useAction(() =>
    api.post('/v1/peers/{id}/rotate', { path: { id: peer.id }, body: { public_key: key.trim() } }),
  )
  const go = async (): Promise<void> => {
    if ((await tell.run())?.ok !== true) return
    setKey('')
    toast({ text: t('mesh.nextKey.done', { name: peer.name }) })
    onChange()
  }
  return (
    <form
      class="stack apart"
      onSubmit={(event) => {
        event.preventDefault()
        void go()
      }}
    >
      <Field
        label={t('mesh.nextKey')}
        help={t('mesh.nextKey.help')}
        value={key}
        onInput={setKey}
        isRequired
      />
      {tell.error === undefined ? null : <ErrorNotice error={tell.error} />}
      <div>
        <Button type="submit" isBusy={tell.isBusy}>
          {t('mesh.nextKey.go')}
        </Button>
      </div>
    </form>
  )
}
