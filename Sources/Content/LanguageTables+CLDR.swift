extension LanguageTables {
    // Source: likelySubtags and languageAlias of CLDR 48, read 2026-11. It has the languages for which CLDR has locale
    // data, and those that are written like Chinese. Copyright Unicode, Inc., under the Unicode License v3.

    /// Languages with the script and the region that are most likely for them. The first one of a language is its
    /// default. The first one of a language and a script tells the script's region. The others tell the script of a
    /// region.
    static let likelySubtags = """
        aa-Latn-ET ab-Cyrl-GE ady-Cyrl-RU af-Latn-ZA agq-Latn-CM ak-Latn-GH am-Ethi-ET an-Latn-ES ann-Latn-NG
        apc-Arab-SY ar-Arab-EG arn-Latn-CL ary-Arab-MA as-Beng-IN asa-Latn-TZ ast-Latn-ES az-Latn-AZ az-Arab-IR
        az-Cyrl-AZ az-Arab-IQ az-Cyrl-RU ba-Cyrl-RU bal-Arab-PK bas-Latn-CM be-Cyrl-BY bem-Latn-ZM bew-Latn-ID
        bez-Latn-TZ bg-Cyrl-BG bgc-Deva-IN bgn-Arab-PK bho-Deva-IN blo-Latn-BJ blt-Tavt-VN bm-Latn-ML bn-Beng-BD
        bo-Tibt-CN bqi-Arab-IR br-Latn-FR brh-Arab-PK brx-Deva-IN bs-Latn-BA bss-Latn-CM bua-Cyrl-RU byn-Ethi-ER
        ca-Latn-ES cad-Latn-US cch-Latn-NG ccp-Cakm-BD cdo-Hans-CN ce-Cyrl-RU ceb-Latn-PH cgg-Latn-UG
        cho-Latn-US chr-Cher-US cic-Latn-US cjy-Hans-CN ckb-Arab-IQ co-Latn-FR cop-Copt-EG cs-Latn-CZ
        csw-Cans-CA cu-Cyrl-RU cv-Cyrl-RU cy-Latn-GB da-Latn-DK dav-Latn-KE de-Latn-DE dje-Latn-NE doi-Deva-IN
        dsb-Latn-DE dua-Latn-CM dv-Thaa-MV dyo-Latn-SN dz-Tibt-BT ebu-Latn-KE ee-Latn-GH el-Grek-GR en-Latn-US
        eo-Latn-001 es-Latn-ES et-Latn-EE eu-Latn-ES ewo-Latn-CM fa-Arab-IR ff-Latn-SN fi-Latn-FI fil-Latn-PH
        fo-Latn-FO fr-Latn-FR frr-Latn-DE fur-Latn-IT fy-Latn-NL ga-Latn-IE gaa-Latn-GH gan-Hans-CN gd-Latn-GB
        gez-Ethi-ET gl-Latn-ES gn-Latn-PY gsw-Latn-CH gu-Gujr-IN guz-Latn-KE gv-Latn-IM ha-Latn-NG ha-Arab-NG
        ha-Arab-CM ha-Arab-SD hak-Hans-CN hak-Hant-TW haw-Latn-US he-Hebr-IL hi-Deva-IN hnj-Hmnp-US hr-Latn-HR
        hrx-Latn-BR hsb-Latn-DE hsn-Hans-CN ht-Latn-HT hu-Latn-HU hy-Armn-AM ia-Latn-001 id-Latn-ID ie-Latn-EE
        ig-Latn-NG ii-Yiii-CN io-Latn-001 is-Latn-IS it-Latn-IT iu-Cans-CA ja-Jpan-JP jbo-Latn-001 jgo-Latn-CM
        jmc-Latn-TZ jv-Latn-ID ka-Geor-GE kaa-Cyrl-UZ kab-Latn-DZ kaj-Latn-NG kam-Latn-KE kbd-Cyrl-RU
        kcg-Latn-NG kde-Latn-TZ kea-Latn-CV kek-Latn-GT ken-Latn-CM kgp-Latn-BR khq-Latn-ML ki-Latn-KE
        kk-Cyrl-KZ kk-Arab-CN kk-Arab-AF kk-Arab-IR kk-Arab-MN kkj-Latn-CM kl-Latn-GL kln-Latn-KE km-Khmr-KH
        kn-Knda-IN ko-Kore-KR kok-Deva-IN kpe-Latn-LR ks-Arab-IN ksb-Latn-TZ ksf-Latn-CM ksh-Latn-DE ku-Latn-TR
        ku-Arab-IQ ku-Cyrl-AM ku-Cyrl-AZ ku-Cyrl-GE ku-Arab-IR ku-Arab-LB ku-Cyrl-TM kw-Latn-GB kxv-Latn-IN
        ky-Cyrl-KG ky-Arab-CN ky-Latn-TR la-Latn-VA lag-Latn-TZ lb-Latn-LU lg-Latn-UG lij-Latn-IT lkt-Latn-US
        lld-Latn-IT lmo-Latn-IT ln-Latn-CD lo-Laoo-LA lrc-Arab-IR lt-Latn-LT ltg-Latn-LV lu-Latn-CD luo-Latn-KE
        luy-Latn-KE lv-Latn-LV lzh-Hant-CN lzz-Latn-TR lzz-Geor-GE mai-Deva-IN mas-Latn-KE mdf-Cyrl-RU
        mer-Latn-KE mfe-Latn-MU mg-Latn-MG mgh-Latn-MZ mgo-Latn-CM mhn-Latn-IT mi-Latn-NZ mic-Latn-CA mk-Cyrl-MK
        ml-Mlym-IN mn-Cyrl-MN mn-Mong-CN mni-Beng-IN moh-Latn-CA mr-Deva-IN mrh-Latn-IN ms-Latn-MY ms-Arab-MY
        ms-Arab-CC mt-Latn-MT mua-Latn-CM mus-Latn-US mww-Hmnp-US my-Mymr-MM myv-Cyrl-RU mzn-Arab-IR nan-Hans-CN
        nan-Hant-TW nan-Hant-MO naq-Latn-NA nb-Latn-NO nd-Latn-ZW nds-Latn-DE ne-Deva-NP nl-Latn-NL nmg-Latn-CM
        nn-Latn-NO nnh-Latn-CM no-Latn-NO nqo-Nkoo-GN nr-Latn-ZA nso-Latn-ZA nus-Latn-SS nv-Latn-US ny-Latn-MW
        nyn-Latn-UG oc-Latn-FR oka-Latn-CA om-Latn-ET or-Orya-IN os-Cyrl-GE osa-Osge-US pa-Guru-IN pa-Arab-PK
        pap-Latn-CW pcm-Latn-NG pi-Latn-GB pi-Deva-IN pi-Mymr-MM pi-Sinh-LK pi-Thai-TH pis-Latn-SB pl-Latn-PL
        pms-Latn-IT prg-Latn-PL ps-Arab-AF pt-Latn-BR qu-Latn-PE quc-Latn-GT raj-Deva-IN rhg-Rohg-MM rif-Latn-MA
        rm-Latn-CH rn-Latn-BI ro-Latn-RO rof-Latn-TZ ru-Cyrl-RU rw-Latn-RW rwk-Latn-TZ sa-Deva-IN sah-Cyrl-RU
        saq-Latn-KE sat-Olck-IN sbp-Latn-TZ sc-Latn-IT scn-Latn-IT sd-Arab-PK sd-Deva-IN sdh-Arab-IR se-Latn-NO
        seh-Latn-MZ ses-Latn-ML sg-Latn-CF sgs-Latn-LT shi-Tfng-MA shn-Mymr-MM si-Sinh-LK sid-Latn-ET sk-Latn-SK
        skr-Arab-PK sl-Latn-SI sma-Latn-SE smj-Latn-SE smn-Latn-FI sms-Latn-FI sn-Latn-ZW so-Latn-SO sq-Latn-AL
        sr-Cyrl-RS sr-Latn-RS sr-Latn-ME sr-Latn-RO sr-Latn-TR ss-Latn-ZA ssy-Latn-ER st-Latn-ZA su-Latn-ID
        sus-Latn-GN suz-Deva-NP sv-Latn-SE sw-Latn-TZ syr-Syrc-IQ szl-Latn-PL ta-Taml-IN te-Telu-IN teo-Latn-UG
        tg-Cyrl-TJ tg-Arab-PK th-Thai-TH ti-Ethi-ET tig-Ethi-ER tk-Latn-TM tn-Latn-ZA to-Latn-TO tok-Latn-001
        tpi-Latn-PG tr-Latn-TR trv-Latn-TW trw-Arab-PK ts-Latn-ZA tt-Cyrl-RU twq-Latn-NE tyv-Cyrl-RU tzm-Latn-MA
        ug-Arab-CN ug-Cyrl-KZ ug-Cyrl-MN uk-Cyrl-UA ur-Arab-PK uz-Latn-UZ uz-Arab-AF uz-Cyrl-UZ uz-Cyrl-CN
        vai-Vaii-LR ve-Latn-ZA vec-Latn-IT vi-Latn-VN vmw-Latn-MZ vo-Latn-001 vun-Latn-TZ wa-Latn-BE wae-Latn-CH
        wal-Ethi-ET wbp-Latn-AU wo-Latn-SN wuu-Hans-CN xdq-Cyrl-RU xh-Latn-ZA xnr-Deva-IN xog-Latn-UG
        yav-Latn-CM yi-Hebr-UA yo-Latn-NG yrl-Latn-BR yue-Hant-HK yue-Hans-CN za-Latn-CN zgh-Tfng-MA zh-Hans-CN
        zh-Hant-TW zh-Hant-AU zh-Hant-BN zh-Hant-GB zh-Hant-GF zh-Hant-HK zh-Hant-ID zh-Hant-MO zh-Hant-PA
        zh-Hant-PF zh-Hant-PH zh-Hant-SR zh-Hant-TH zh-Hant-US zh-Hant-VN zu-Latn-ZA
        """

    /// Legacy, three-letter and otherwise deprecated codes of languages, with the tag that stands for each today.
    ///
    /// Here `no` is an alias of `nb`, as devices mean it. To CLDR it is the parent of `nb` and `nn`.
    static let aliases = """
        aar:aa abk:ab adp:dz afr:af ajp:apc aka:ak alb:sq als:sq amh:am ara:ar arb:ar arg:an arm:hy asm:as
        aze:az azj:az bak:ba bam:bm baq:eu bcc:bal bel:be ben:bn bh:bho bih:bho bod:bo bos:bs bre:br bul:bg
        bur:my bxk:luy bxr:bua cat:ca ces:cs che:ce chi:zh chu:cu chv:cv cld:syr cls:sa cmn:zh cnr:sr-ME cor:kw
        cos:co cym:cy cze:cs dan:da deu:de dgo:doi div:dv drh:mn drw:fa-AF dut:nl dzo:dz ekk:et ell:el eng:en
        epo:eo est:et eus:eu ewe:ee fao:fo fas:fa fin:fi fra:fr fre:fr fry:fy fuc:ff ful:ff gaz:om geo:ka ger:de
        gla:gd gle:ga glg:gl glv:gv gom:kok gre:el grn:gn gug:gn guj:gu hat:ht hau:ha hbs:sr-Latn heb:he hin:hi
        hrv:hr hun:hu hye:hy ibo:ig ice:is ido:io iii:ii ike:iu iku:iu ile:ie in:id ina:ia ind:id isl:is ita:it
        iw:he jav:jv ji:yi jpn:ja jw:jv kal:kl kan:kn kas:ks kat:ka kaz:kk khk:mn khm:km kik:ki kin:rw kir:ky
        kmr:ku kor:ko kur:ku lao:lo lat:la lav:lv lin:ln lit:lt ltz:lb lub:lu lug:lg lvs:lv mac:mk mal:ml mao:mi
        mar:mr may:ms mkd:mk mlg:mg mlt:mt mo:ro mol:ro mon:mn mri:mi msa:ms mup:raj mya:my nav:nv nbl:nr nde:nd
        nep:ne nld:nl nno:nn no:nb nob:nb nor:nb npi:ne nya:ny oci:oc ori:or orm:om ory:or oss:os pan:pa pbu:ps
        per:fa pes:fa pli:pi plt:mg pol:pl por:pt prp:gu prs:fa-AF pus:ps que:qu quz:qu roh:rm ron:ro rum:ro
        run:rn rus:ru sag:sg san:sa scc:sr scr:hr sh:sr-Latn sin:si slk:sk slo:sk slv:sl sme:se sna:sn snd:sd
        som:so sot:st spa:es spy:kln sqi:sq src:sc srd:sc srp:sr ssw:ss sun:su swa:sw swc:sw-CD swe:sv swh:sw
        tam:ta tat:tt tel:te tgk:tg tgl:fil tha:th tib:bo tir:ti tl:fil tnf:fa-AF ton:to tsn:tn tso:ts tuk:tk
        tur:tr tw:ak twi:ak uig:ug ukr:uk urd:ur uzb:uz uzn:uz ven:ve vie:vi vol:vo wel:cy wln:wa wol:wo xho:xh
        xpe:kpe ydd:yi yid:yi yor:yo zha:za zho:zh zsm:ms zul:zu zyb:za
        """
}
