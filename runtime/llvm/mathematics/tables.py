"""Numbers that functions look up, written by `docs/fit_coefficients.py tables`."""

from __future__ import annotations

from ....compiler.ir.record import record

Row = tuple[float, ...]


def _row(text: str) -> Row:
    return tuple(map(float.fromhex, text.split()))


@record
class Pieces:
    """An odd function in pieces around the multiples of `step`, up to `last`.

    A row for each power of the distance t, one number a piece; the first piece lacks a term t.
    """

    step: float
    last: float
    rows: tuple[Row, ...]


PIECES = {
    ("erf", "f4"): Pieces(
        0.12890625,
        4.0,
        (
            _row(
                "0x0p+0 0x1.284012p-3 0x1.236bfp-2 0x1.a98722p-2 0x1.117894p-1 0x1.46a414p-1 0x1.73b102p-1 "
                "0x1.989e3cp-1 0x1.b5e63p-1 0x1.cc5c5ap-1 0x1.dd0788p-1 0x1.e8fef4p-1 0x1.f14e82p-1 "
                "0x1.f6e3eep-1 0x1.fa84fep-1 0x1.fccd2ap-1 0x1.fe308p-1 0x1.ff0198p-1 0x1.ff789ep-1 "
                "0x1.ffba2cp-1 0x1.ffdd18p-1 0x1.ffef16p-1 0x1.fff81p-1 0x1.fffc64p-1 0x1.fffe68p-1 "
                "0x1.ffff52p-1 0x1.ffffb8p-1 0x1.ffffe4p-1 0x1.fffff4p-1 0x1.fffffcp-1 0x1.fffffep-1 0x1p+0"
            ),
            _row(
                "0x1.06eba8p-3 0x1.1c1acep+0 0x1.0e4a08p+0 0x1.f17ae6p-1 0x1.bada5ap-1 0x1.7d568cp-1 "
                "0x1.3da26ep-1 0x1.ffd95cp-2 0x1.8eed36p-2 0x1.2cc0fp-2 0x1.b6a856p-3 0x1.3570c4p-3 "
                "0x1.a64de6p-4 0x1.16bf4ep-4 0x1.63f3f6p-5 0x1.b7af4cp-6 0x1.06ae14p-6 0x1.2f9af6p-7 "
                "0x1.536fc2p-8 0x1.6f177ep-9 0x1.8005fp-10 0x1.849a98p-11 0x1.7c629cp-12 0x1.682b6p-13 "
                "0x1.49e178p-14 0x1.244356p-15 0x1.f4f132p-17 0x1.9f46fap-18 0x1.4d0236p-19 0x1.024f2p-20 "
                "0x1.83a208p-22 0x1.195834p-23"
            ),
            _row(
                "0x1.0261a8p-21 -0x1.24fad2p-3 -0x1.16bcbp-2 -0x1.80c4aap-2 -0x1.c8b2dp-2 -0x1.eb91d6p-2 "
                "-0x1.eb56f8p-2 -0x1.cdddd4p-2 -0x1.9b6502p-2 -0x1.5ceae4p-2 -0x1.1abb2ep-2 -0x1.b6c552p-3 "
                "-0x1.46a014p-3 -0x1.d3209p-4 -0x1.412e7ep-4 -0x1.a91be2p-5 -0x1.0eefcp-5 -0x1.4cbe86p-6 "
                "-0x1.89a272p-7 -0x1.c1d0aep-8 -0x1.efa84ap-9 -0x1.0644b4p-9 -0x1.0dbccap-10 -0x1.0b1602p-11 "
                "-0x1.f0290ep-13 -0x1.cd6d5ep-14 -0x1.96613cp-15 -0x1.bef0ccp-16 -0x1.7fd016p-19 "
                "-0x1.458d56p-18 0x1.0b403cp-19 -0x1.1f4288p-18"
            ),
            _row(
                "-0x1.813114p-2 -0x1.6e3756p-2 -0x1.387d66p-2 -0x1.d0ecd4p-3 -0x1.14812ap-3 -0x1.5804a2p-5 "
                "0x1.4cb1fp-5 0x1.ace76ep-4 0x1.2bb81ap-3 0x1.533baep-3 0x1.53b924p-3 0x1.37a368p-3 "
                "0x1.0a7336p-3 0x1.acf254p-4 0x1.471bcap-4 0x1.daae44p-5 0x1.48b11cp-5 0x1.b365fp-6 "
                "0x1.144ae2p-6 0x1.506b2p-7 0x1.896a04p-8 0x1.ba3adp-9 0x1.de2caap-10 0x1.f1a5ep-11 "
                "0x1.f2bbf8p-12 0x1.e184fap-13 0x1.c00a2ep-14 0x1.91e556p-15 0x1.5ba322p-16 0x1.220aap-17 "
                "0x1.d2ea8cp-19 0x1.6aa5eep-20"
            ),
            _row(
                "0x1.e9874p-11 0x1.2122e2p-4 0x1.09d8dap-3 0x1.59c05ep-3 0x1.771a66p-3 0x1.62eb02p-3 "
                "0x1.271518p-3 0x1.a62286p-4 0x1.df4aa4p-5 0x1.207d7p-6 -0x1.e301dap-7 -0x1.299ebap-5 "
                "-0x1.83e83ap-5 -0x1.96c4ep-5 -0x1.77d9ccp-5 -0x1.3d1be4p-5 -0x1.f16c0ap-6 -0x1.6e70d4p-6 "
                "-0x1.fe7736p-7 -0x1.51ad4p-7 -0x1.a9a87ep-8 -0x1.0039c2p-8 -0x1.272618p-9 -0x1.45c54p-10 "
                "-0x1.58ef58p-11 -0x1.5eb194p-12 -0x1.56a124p-13 -0x1.41e506p-14 -0x1.22f69ep-15 "
                "-0x1.fa558ap-17 -0x1.a84254p-18 -0x1.567554p-19"
            ),
            _row(
                "0x1.affb7ap-4 0x1.a95642p-4 0x1.40d752p-4 0x1.594fcap-5 0x1.7a893p-9 -0x1.057dbp-5 "
                "-0x1.cfb56cp-5 -0x1.186e82p-4 -0x1.1625d6p-4 -0x1.d9256cp-5 -0x1.58c3eap-5 -0x1.998a02p-6 "
                "-0x1.3e42eep-7 0x1.e8abfep-10 0x1.2ba1cap-7 0x1.9a9f08p-7 0x1.a973c8p-7 0x1.7c644p-7 "
                "0x1.335a4cp-7 0x1.caccf4p-8 0x1.403d0ep-8 0x1.a549bp-9 0x1.067e74p-9 0x1.36fceap-10 "
                "0x1.5f3c1ap-11 0x1.7af2d8p-12 0x1.873306p-13 0x1.82eab2p-14 0x1.6f07c6p-15 0x1.4e3906p-16 "
                "0x1.24607cp-17 0x1.ebbb62p-19"
            ),
        ),
    ),
    ("erf", "f8"): Pieces(
        0.390625,
        6.0,
        (
            _row(
                "0x0p+0 0x1.ad68966569a87p-2 0x1.762870f720c6fp-1 0x1.ce1962c0e0d8bp-1 0x1.f21c9f12f0677p-1 "
                "0x1.fd0f5317f582fp-1 0x1.ff87b1913e853p-1 0x1.fff18ebe2b0e1p-1 0x1.fffeb3ebb267bp-1 "
                "0x1.ffffe9bf4098cp-1 0x1.fffffee3cc32cp-1 0x1.fffffff57632dp-1 0x1.ffffffffb5be5p-1 "
                "0x1.fffffffffe7cp-1 0x1.fffffffffffa2p-1 0x1.fffffffffffffp-1"
            ),
            _row(
                "0x1.06eba8214db69p-3 0x1.eff8c4b1375dbp-1 0x1.39ccc1b136d5ap-1 0x1.24a55399ea239p-2 "
                "0x1.92470a61b6965p-4 0x1.978ae8b55ce1bp-6 0x1.30499b503957fp-8 0x1.4ee1429bf7ccp-11 "
                "0x1.0f9e1b4dd36e1p-14 0x1.44ba86467088p-18 0x1.1e1e857adc543p-22 0x1.7397c5a66e2fcp-27 "
                "0x1.63ac6b4edce37p-32 0x1.f5cc77180bedp-38 0x1.04e15ecc889a9p-43 0x1.8fd4e018c7fd9p-50"
            ),
            _row(
                "-0x1.467958f03d852p-46 -0x1.837a59aa73405p-2 -0x1.ea4feea4e5ae1p-2 -0x1.56f1bdf85e611p-2 "
                "-0x1.3a47801c56a49p-3 -0x1.8dfda7411cc0fp-5 -0x1.6496420203461p-7 -0x1.c9d7f9113d104p-10 "
                "-0x1.a8670aa99740bp-13 -0x1.1d67f0042bf16p-16 -0x1.1769ce56f24f1p-20 -0x1.8f2c0947a5123p-25 "
                "-0x1.a0ce170d36ad3p-30 -0x1.3e86f92481e12p-35 -0x1.647d8008adccfp-41 -0x1.2a1ef5ddad12fp-47"
            ),
            _row(
                "-0x1.812746b0245e9p-2 -0x1.cb7bf78e2deb5p-3 0x1.715e5953434acp-5 0x1.54c0d66d77653p-3 "
                "0x1.0453f90d3bd26p-3 0x1.c24b2053e3381p-5 0x1.fa73d7eb1b777p-7 0x1.85661421616c6p-9 "
                "0x1.a3737e2a2f0ffp-12 0x1.40ee07ac504bep-15 0x1.5fe5d4756181cp-19 0x1.161fb5391a00ap-23 "
                "0x1.3e380dd7467adp-28 0x1.085b86614fa6fp-33 0x1.3fa83028f21c5p-39 0x1.19d11ff4aa8cep-45"
            ),
            _row(
                "-0x1.c724fba7f75d4p-32 0x1.5c0fc7760ca05p-3 0x1.22cdbdb4d099fp-3 0x1.cf82bac1bc544p-7 "
                "-0x1.8a7c6a2399be3p-5 -0x1.33137b26e08aap-5 -0x1.daa3005c28ab4p-7 -0x1.c812e602cc563p-9 "
                "-0x1.24544f02d9855p-11 -0x1.02488b68ae316p-14 -0x1.405da04827c64p-18 -0x1.1a2239f48ed1p-22 "
                "-0x1.638bc505aff76p-27 -0x1.4256995bd6587p-32 -0x1.a62b712e02961p-38 -0x1.909da85eae2a7p-44"
            ),
            _row(
                "0x1.ce2f270e1e032p-4 0x1.4dd7b2ce0e43dp-5 -0x1.da50ae54a2804p-5 -0x1.cf38b99950919p-5 "
                "-0x1.075c08801f289p-7 0x1.a342ba0e7c838p-7 0x1.250942c30f68dp-7 0x1.7e02d8bc34d49p-9 "
                "0x1.2e7e763d4103ap-11 0x1.3b124fb17cb0bp-14 0x1.bfc96a9257352p-18 0x1.bb32ded20d44p-22 "
                "0x1.35753ad955a1fp-26 0x1.338c499c9e24ep-31 0x1.b5c6198bb7baep-37 0x1.c055de610e5c5p-43"
            ),
            _row(
                "-0x1.38fdf1ae6d5bp-21 -0x1.9ebc1ddba646ap-5 -0x1.75578f5011a14p-6 0x1.2c1727042fbc4p-6 "
                "0x1.16f9c9ca5f7d8p-6 0x1.b4bbc4eabb20ep-10 -0x1.997578d41d895p-9 -0x1.c5229393c4cb9p-10 "
                "-0x1.da496e4b102bfp-12 -0x1.2c595047a401dp-14 -0x1.f19ff61377003p-18 -0x1.17c6eec1886abp-21 "
                "-0x1.b41f30941fa67p-26 -0x1.dd9c45876c9ffp-31 -0x1.72de194690bc4p-36 -0x1.9b1e6e6207ec8p-42"
            ),
            _row(
                "-0x1.b80035078ba0fp-6 -0x1.0997780e40bfp-8 0x1.35331b66a2727p-6 0x1.e06b844c993e2p-8 "
                "-0x1.74c2fcab21f3dp-8 -0x1.04937e80eeb55p-8 -0x1.3903daf373998p-15 0x1.583413ac2350dp-11 "
                "0x1.176cf658512cp-12 0x1.c5586b37cc0b6p-15 0x1.c0c4db8cbb0c4p-18 0x1.22b6eec4b7284p-21 "
                "0x1.fe694c3b862e7p-26 0x1.35de340b8af8ap-30 0x1.07aeb32bc7f83p-35 0x1.3d712dd67b328p-41"
            ),
            _row(
                "-0x1.0cb1a3e934778p-13 0x1.707482bc49de2p-7 0x1.39c83e8344bccp-10 -0x1.8df7e5df2a0bcp-8 "
                "-0x1.760c7c7e587bep-10 0x1.9f5a299984e4ap-10 0x1.6a6d8c2100322p-11 -0x1.48c1dc8e8fd4bp-14 "
                "-0x1.d2ac760685c47p-14 -0x1.0dba1c93c92c7p-15 -0x1.4b9de9bc1bee7p-18 -0x1.f8ada476e509fp-22 "
                "-0x1.f8afed078b302p-26 -0x1.5638aca1b45f8p-30 -0x1.40c814b0e49d4p-35 -0x1.a4fd7950740b7p-41"
            ),
            _row(
                "0x1.99b9ddca6f6bbp-8 -0x1.8a60813c0b289p-13 -0x1.fc371a9a2302ap-9 0x1.471e44cf2c843p-13 "
                "0x1.a3cdc3290895dp-10 0x1.66568f1a8023cp-14 -0x1.71ebd13897afbp-12 -0x1.4fa98e50be76p-14 "
                "0x1.aafde7c01a455p-16 0x1.ea4b97bc1ae87p-17 0x1.9133d1fc85cbfp-19 0x1.70d76349a2008p-22 "
                "0x1.aa7799a711fd5p-26 0x1.45eea4c4108a8p-30 0x1.528fcfe0fcaa3p-35 0x1.e66d5fedbece4p-41"
            ),
            _row(
                "-0x1.64fc96c0e682ep-8 -0x1.040da6ea21527p-9 0x1.9bf26194d8137p-12 0x1.1167e7134583cp-10 "
                "-0x1.02aace601380dp-12 -0x1.4a60d28fc22bdp-12 0x1.642b1295c2757p-15 0x1.e413a98aae1c8p-15 "
                "0x1.04093a03255a8p-18 -0x1.31e8ee464f006p-18 -0x1.8718006cee492p-20 -0x1.c674c78eabab3p-23 "
                "-0x1.35f44a79d5432p-26 -0x1.0ded7c7398c71p-30 -0x1.38be869974a81p-35 -0x1.edda2cd3afffp-41"
            ),
            _row(
                "0x1.1de5ec5e78904p-6 0x1.677e1ed17834cp-13 0x1.2f60d6cf33fc1p-11 -0x1.03b563efa6f48p-12 "
                "-0x1.9294baab0c25bp-13 0x1.9a8eb738d886dp-14 0x1.4c815eaa2c23dp-15 -0x1.058f8cc020001p-16 "
                "-0x1.ab43acbb70392p-18 0x1.18713ad788f79p-21 0x1.24ed2e33fa0c8p-21 0x1.d4be6dec97999p-24 "
                "0x1.84e20d9771051p-27 0x1.87f5ed4dcdfa9p-31 0x1.ff74d114b6d85p-36 0x1.bee3596c0e762p-41"
            ),
            _row(
                "-0x1.21757edafddfdp-5 0x1.2a7ad12663b95p-12 -0x1.13cfe2edaecb7p-13 -0x1.c8d1df26eda4cp-14 "
                "0x1.672d9f8a6ea6p-14 0x1.111fe7d8218f3p-16 -0x1.6ad720af2b07dp-16 -0x1.d883a979a8e96p-20 "
                "0x1.6af8741b94ddcp-19 0x1.aa131372184e4p-22 -0x1.1c156c814463cp-23 -0x1.8f980ae5c516cp-25 "
                "-0x1.adfbf437c0814p-28 -0x1.03935a8bbf6cfp-31 -0x1.873212d58a37fp-36 -0x1.828f8be1d87b3p-41"
            ),
            _row(
                "0x1.eada2df0869cep-6 -0x1.4585f93e763b1p-15 -0x1.106d9911ee4e7p-14 0x1.c0ccdbebc4746p-15 "
                "0x1.ac8bbc6705a24p-18 -0x1.33be0e2446d65p-16 0x1.22e10d69c989bp-19 0x1.82f5ee1cdf777p-19 "
                "-0x1.a7e7911b4b327p-22 -0x1.2fa15f1dfbe12p-22 0x1.59e80be32a84ep-29 0x1.02db1754c30bbp-26 "
                "0x1.891607a242addp-29 0x1.2151bc2ca8886p-32 0x1.f7fb49f4978dap-37 0x1.17d63d3ac2e8dp-41"
            ),
        ),
    ),
    ("erf_eight", "f4"): Pieces(
        0.53515625,
        4.0,
        (
            _row(
                "0x0p+0 0x1.1a086ap-1 0x1.bd61a2p-1 0x1.f421eap-1 0x1.febc96p-1 0x1.ffebc8p-1 0x1.ffff44p-1 "
                "0x1.fffffcp-1"
            ),
            _row(
                "0x1.06eba8p-3 0x1.b1db5cp-1 0x1.6f7c6ap-2 0x1.5f14dep-4 0x1.7a4f6cp-7 0x1.cbcaacp-11 "
                "0x1.3b263ap-15 0x1.e74546p-21"
            ),
            _row(
                "0x1.084b6ap-22 -0x1.d05ca2p-2 -0x1.89536p-2 -0x1.19d32ap-3 -0x1.94ea1ep-6 -0x1.339008p-9 "
                "-0x1.f9d77p-14 -0x1.c4d768p-19"
            ),
            _row(
                "-0x1.8129ecp-2 -0x1.ee482p-4 0x1.3c511ap-3 0x1.e641bap-4 0x1.0164cep-5 0x1.fe59b2p-9 "
                "0x1.01a53p-12 0x1.12d31ep-17"
            ),
            _row(
                "0x1.39a30cp-13 0x1.779476p-3 0x1.740dcap-5 -0x1.94da5cp-5 -0x1.a028e4p-6 -0x1.222114p-8 "
                "-0x1.72d492p-12 -0x1.da0162p-17"
            ),
            _row(
                "0x1.ca3174p-4 -0x1.84e4bap-9 -0x1.0d5d8p-4 -0x1.fde588p-9 0x1.93a9dep-7 0x1.d41fc6p-9 "
                "0x1.8f809cp-12 0x1.3aacc6p-16"
            ),
            _row(
                "0x1.65f15p-9 -0x1.81628ep-5 0x1.5996e8p-7 0x1.efb504p-7 -0x1.ddafe2p-10 -0x1.070504p-9 "
                "-0x1.56cb5ep-12 -0x1.675a5cp-16"
            ),
            _row(
                "-0x1.dcebeep-6 0x1.d08e1ap-8 0x1.8bed8ap-7 -0x1.7c7978p-8 -0x1.cbb99ap-10 0x1.5abfd4p-11 "
                "0x1.a70238p-13 0x1.2a439p-16"
            ),
        ),
    ),
    ("tanh", "f4"): Pieces(
        0.296875,
        9.25,
        (
            _row(
                "0x0p+0 0x1.275f7ep-2 0x1.10af48p-1 0x1.6c643ep-1 0x1.a8dbccp-1 0x1.cdf83ap-1 0x1.e3c0bp-1 "
                "0x1.f0348cp-1 0x1.f73776p-1 0x1.fb2174p-1 0x1.fd4e2p-1 0x1.fe829p-1 0x1.ff2d36p-1 "
                "0x1.ff8b8ep-1 0x1.ffbfaep-1 0x1.ffdc7ap-1 0x1.ffec62p-1 0x1.fff52ap-1 0x1.fffa04p-1 "
                "0x1.fffcb2p-1 0x1.fffe2cp-1 0x1.fffefep-1 0x1.ffff72p-1 0x1.ffffb2p-1 0x1.ffffd4p-1 "
                "0x1.ffffe8p-1 0x1.fffff2p-1 0x1.fffff8p-1 0x1.fffffcp-1 0x1.fffffep-1 0x1.fffffep-1 0x1p+0"
            ),
            _row(
                "0x1.33e53ap-32 0x1.d56658p-1 0x1.6ec588p-1 0x1.f952c8p-2 0x1.3ee73p-2 0x1.7cb01cp-3 "
                "0x1.b77d6ap-4 0x1.f1a2bap-5 0x1.16a7fcp-5 0x1.3627a6p-6 0x1.5807fp-7 0x1.7ce18ap-8 "
                "0x1.a53bdp-9 0x1.d196fep-10 0x1.0139b6p-10 0x1.1c2b5p-11 0x1.39e782p-12 0x1.5abb6cp-13 "
                "0x1.7efb44p-14 0x1.a7037ap-15 0x1.d339d2p-16 0x1.02073ap-16 0x1.1cfe94p-17 0x1.3ac742p-18 "
                "0x1.5bacb2p-19 0x1.80022ep-20 0x1.a823bp-21 0x1.d476d2p-22 0x1.02b5e4p-22 0x1.1dbf3ep-23 "
                "0x1.3b9be8p-24 0x1.5c977ap-25"
            ),
            _row(
                "-0x1.22358cp-23 -0x1.0ecbf4p-2 -0x1.86ad14p-2 -0x1.67a3bap-2 -0x1.08a07p-2 -0x1.577d26p-3 "
                "-0x1.9f3f86p-4 -0x1.e2492ep-5 -0x1.11de48p-5 -0x1.3334e2p-6 -0x1.563fap-7 -0x1.7bbd5ap-8 "
                "-0x1.a46ef8p-9 -0x1.d18522p-10 -0x1.0142f4p-10 -0x1.1c8a8cp-11 -0x1.3b0858p-12 "
                "-0x1.5a9fdcp-13 -0x1.7ebf34p-14 -0x1.a76c8p-15 -0x1.c2121p-16 -0x1.02ad26p-16 "
                "-0x1.3320ccp-17 -0x1.789752p-18 -0x1.f6eacep-20 -0x1.803354p-20 0x1.aa9678p-23 "
                "0x1.f401c4p-22 -0x1.3f01cp-22 -0x1.d9bd9cp-22 0x1.faa5ecp-21 -0x1.fa7264p-21"
            ),
            _row(
                "-0x1.55529p-2 -0x1.d5a36cp-3 -0x1.23a9d4p-5 0x1.5e0b94p-4 0x1.c52722p-4 0x1.6e10a8p-4 "
                "0x1.ebadf6p-5 0x1.2d878ap-5 0x1.6095a4p-6 0x1.91cbf2p-7 0x1.c37b4ep-8 0x1.f76916p-9 "
                "0x1.177752p-9 0x1.359032p-10 0x1.567566p-11 0x1.7a946ap-12 0x1.a2594ap-13 0x1.ce30fcp-14 "
                "0x1.fe9144p-15 0x1.19fc68p-15 0x1.3777e6p-16 0x1.580706p-17 0x1.7bfbbap-18 0x1.a3b28ep-19 "
                "0x1.cf8f72p-20 0x1.0000bap-20 0x1.1ac1ecp-21 0x1.384e92p-22 0x1.58f17ep-23 0x1.7cfdeap-24 "
                "0x1.a4ced8p-25 0x1.d0c8c4p-26"
            ),
            _row(
                "-0x1.3d73c8p-12 0x1.3bf0f4p-3 0x1.2b4e7ap-3 0x1.ccd8f2p-5 -0x1.72e7a8p-8 -0x1.9532fcp-6 "
                "-0x1.77739cp-6 -0x1.06eedep-6 -0x1.47e7dep-7 -0x1.82585cp-8 -0x1.b9ebap-9 -0x1.f18842p-10 "
                "-0x1.15aa78p-10 -0x1.34768p-11 -0x1.55c98cp-12 -0x1.7a2bb6p-13 -0x1.a218fp-14 "
                "-0x1.ce09d4p-15 -0x1.fe798ep-16 -0x1.19f504p-16 -0x1.37737cp-17 -0x1.580434p-18 "
                "-0x1.7bfa72p-19 -0x1.a3b1bcp-20 -0x1.cf8eecp-21 -0x1.00009cp-21 -0x1.1ac1b2p-22 "
                "-0x1.384e78p-23 -0x1.58f1cp-24 -0x1.7cfe2cp-25 -0x1.a4cfp-26 -0x1.d0c904p-27"
            ),
            _row(
                "0x1.191d26p-3 0x1.ab5f0ep-5 -0x1.902f6ap-5 -0x1.d44aecp-5 -0x1.a05dep-6 -0x1.cb891ep-9 "
                "0x1.03910cp-8 0x1.2e92e8p-8 0x1.c00fd4p-9 0x1.1d4b64p-9 0x1.534f2ep-10 0x1.85eaa8p-11 "
                "0x1.b80978p-12 0x1.ebc8e6p-13 0x1.115aaep-13 0x1.2f000ap-14 0x1.4f53p-15 0x1.72c5p-16 "
                "0x1.99c324p-17 0x1.c4bbf4p-18 0x1.f42376p-19 0x1.143b08p-19 0x1.311d74p-20 0x1.5102ecp-21 "
                "0x1.743cb2p-22 0x1.9b243cp-23 0x1.c61c36p-24 0x1.f59182p-25 0x1.14fe28p-25 0x1.31f0bp-26 "
                "0x1.51e9ap-27 0x1.7539eap-28"
            ),
            _row(
                "-0x1.831ap-6 -0x1.21e7d8p-4 -0x1.fd8044p-6 0x1.c56526p-7 0x1.16d6ep-6 0x1.f1a438p-8 "
                "0x1.a93c5ep-10 -0x1.c5dc36p-12 -0x1.8f9ceap-11 -0x1.3c3fbcp-11 -0x1.9bef0ap-12 "
                "-0x1.eeb5a2p-13 -0x1.1d952ep-13 -0x1.431136p-14 -0x1.698508p-15 -0x1.922be6p-16 "
                "-0x1.bdf484p-17 -0x1.eda192p-18 -0x1.10ef9ep-18 -0x1.2da89ep-19 -0x1.4d4e22p-20 "
                "-0x1.703624p-21 -0x1.96bc98p-22 -0x1.c14532p-23 -0x1.f03cf4p-24 -0x1.120dc8p-24 "
                "-0x1.2eb26cp-25 -0x1.4e550ap-26 -0x1.7145cep-27 -0x1.97dd3cp-28 -0x1.c27d0ap-29 "
                "-0x1.f19124p-30"
            ),
        ),
    ),
}
# 1/m, and -log of it as a sum of two, by the first bits of m
LOGARITHMS = {
    "f4": (
        _row(
            "0x1p+0 0x1.eap-1 0x1.dap-1 0x1.cep-1 0x1.cp-1 0x1.b4p-1 0x1.aap-1 0x1.9ep-1 0x1.94p-1 "
            "0x1.8ap-1 0x1.82p-1 0x1.78p-1 0x1.7p-1 0x1.68p-1 0x1.6p-1 0x1.58p-1 0x1.52p+0 0x1.4bp+0 "
            "0x1.44p+0 0x1.3ep+0 0x1.38p+0 0x1.32p+0 0x1.2dp+0 0x1.27p+0 0x1.22p+0 0x1.1dp+0 0x1.18p+0 "
            "0x1.13p+0 0x1.0fp+0 0x1.0ap+0 0x1.06p+0 0x1p+0"
        ),
        _row(
            "0x0p+0 0x1.67cp-5 0x1.3bep-4 0x1.a4ep-4 0x1.118p-3 0x1.491p-3 0x1.78ap-3 0x1.b32p-3 "
            "0x1.e53p-3 0x1.0c4p-2 0x1.2148p-2 0x1.3c28p-2 0x1.5228p-2 0x1.68bp-2 0x1.7fbp-2 0x1.9738p-2 "
            "-0x1.1c88p-2 -0x1.0718p-2 -0x1.e27p-3 -0x1.bc3p-3 -0x1.952p-3 -0x1.6d6p-3 -0x1.4bap-3 "
            "-0x1.226p-3 -0x1.fecp-4 -0x1.b78p-4 -0x1.6fp-4 -0x1.254p-4 -0x1.d28p-5 -0x1.3ap-5 "
            "-0x1.7b8p-6 0x0p+0"
        ),
        _row(
            "0x0p+0 0x1.29e5aap-18 -0x1.4b05c2p-21 0x1.d902c6p-18 -0x1.c5f76p-17 0x1.ec199ep-18 "
            "-0x1.c9eaeep-17 -0x1.3d4522p-18 0x1.dffce2p-20 0x1.6b3b0cp-17 -0x1.d4978ap-17 "
            "-0x1.6c4666p-17 0x1.7039c6p-17 -0x1.be0b1cp-17 -0x1.7109fap-20 0x1.1a189ap-17 "
            "-0x1.8c169ap-18 -0x1.c2fe6ap-17 -0x1.db8abcp-21 0x1.e62f4ap-17 -0x1.6a73d2p-17 "
            "-0x1.fce33ap-20 -0x1.b79cd2p-18 -0x1.bc642ap-17 -0x1.2263b8p-17 -0x1.905762p-17 "
            "-0x1.a515cap-17 0x1.3a1ebep-21 0x1.28ea4ap-18 0x1.784602p-17 -0x1.1b07d6p-18 0x0p+0"
        ),
    ),
    "f8": (
        _row(
            "0x1p+0 0x1.d4p-1 0x1.bap-1 0x1.a4p-1 0x1.9p-1 0x1.7ep-1 0x1.6cp-1 0x1.5cp-1 0x1.4ep+0 "
            "0x1.41p+0 0x1.35p+0 0x1.2ap+0 0x1.1fp+0 0x1.16p+0 0x1.0dp+0 0x1p+0"
        ),
        _row(
            "0x0p+0 0x1.700d30aeacp-4 0x1.2d1610c868p-3 0x1.95a5adcf7p-3 0x1.f991c6cb3cp-3 "
            "0x1.2bef07cdc9p-2 0x1.5d5bddf596p-2 0x1.8b639a88b3p-2 -0x1.1058bf9ae5p-2 -0x1.cf6354e09cp-3 "
            "-0x1.815c0a1436p-3 -0x1.371fc201e8p-3 -0x1.d4313d66ccp-4 -0x1.51b073f06p-4 -0x1.95c830ec9p-5"
            " 0x0p+0"
        ),
        _row(
            "0x0p+0 0x1.c1e8da99ded32p-49 0x1.39d6ccb81b4a1p-47 0x1.7f22858a0ff6fp-47 "
            "-0x1.90d04cd7cc834p-44 0x1.a9cfa4a5004f4p-45 -0x1.a0b2a08a465dcp-47 -0x1.05ae1e5e7047p-45 "
            "0x1.4ab9d817d52cdp-44 -0x1.771239a07d55bp-45 0x1.02a52f9201ce8p-44 -0x1.ee8779b2d8abcp-44 "
            "0x1.9454379135713p-45 -0x1.83f69278e686ap-44 0x1.c148297c5feb8p-45 0x0p+0"
        ),
    ),
}
# 2^(j/16)
EXP2 = _row(
    "0x1p+0 0x1.0b5586cf9890fp+0 0x1.172b83c7d517bp+0 0x1.2387a6e756238p+0 0x1.306fe0a31b715p+0 "
    "0x1.3dea64c123422p+0 0x1.4bfdad5362a27p+0 0x1.5ab07dd485429p+0 0x1.6a09e667f3bcdp+0 "
    "0x1.7a11473eb0187p+0 0x1.8ace5422aa0dbp+0 0x1.9c49182a3f09p+0 0x1.ae89f995ad3adp+0 "
    "0x1.c199bdd85529cp+0 0x1.d5818dcfba487p+0 0x1.ea4afa2a490dap+0"
)
